"""The perplexity of texts under the base model, by acceptance rule and temperature.

Every rule writes a reply to every prompt, and the base model reads the replies back, teacher-forced
in one pass each, with its full distribution at temperature 1, however the text was drawn. Sampling
is lossless, so its texts are those of the base model at that temperature; the distance of typical
acceptance from them is its loss. Lower means likelier, not better: greedy text is likely, and often
dull.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.nn.functional as F
from pydantic import BaseModel as Schema
from pydantic import ConfigDict, Field
from scipy.special import stdtrit

from explorer.records.errors import ExplorerError
from explorer.records.events import finished
from explorer.records.progress import Progress
from explorer.records.prompts import Prompt
from explorer.records.schema import Trace
from explorer.records.settings import DecodeSettings, decode_settings

if TYPE_CHECKING:
    from explorer.measuring.lab_protocol import LabProtocol
    from explorer.models.base import LanguageModel

RULES = ("greedy", "sample", "typical")
TEMPERATURES = (0.3, 0.7, 1.0)
ROWS_AT_A_TIME = 256  # whose logits are in memory together
Cell = tuple[str, float]  # acceptance rule, temperature


class Interval(Schema):
    """A figure with its 95 % interval over prompts; no interval for fewer than two prompts."""

    model_config = ConfigDict(frozen=True)

    value: float
    low: float | None
    high: float | None


class RuleFigures(Schema):
    """The texts of one rule at one temperature.

    `perplexity` is over all their tokens. `over_sample` is its quotient over that of `sample` at
    the same temperature, with an interval for which each prompt is compared with itself.
    """

    model_config = ConfigDict(frozen=True)

    rule: str
    temperature: float
    lossless: bool
    prompts: int
    tokens: int
    steps: int
    tokens_per_step: float
    perplexity: Interval
    over_sample: Interval | None


class PerplexityReport(Schema):
    """What was decoded, with what, and the figures of every rule at every temperature."""

    model_config = ConfigDict(frozen=True)

    model: str
    heads: str | None
    backend: str
    device: str
    method: str
    tree: str
    epsilon: float
    delta: float
    root_rule: str
    seed: int = Field(description="of the first prompt; each further prompt has the next one")
    max_new_tokens: int
    prompts: int
    figures: list[RuleFigures]


@dataclass(frozen=True)
class ScoredText:
    """One reply: its tokens, the steps it took, and −log P of all its tokens together."""

    tokens: int
    steps: int
    surprise: float


def measure_perplexity(
    lab: LabProtocol,
    prompts: Sequence[Prompt],
    rules: Sequence[str] = RULES,
    temperatures: Sequence[float] = TEMPERATURES,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
    **settings: Any,
) -> PerplexityReport:
    """Let every rule answer every prompt at every temperature, and score the replies.

    `prompts` are records with "prompt". Greedy texts are written once, at temperature 0.
    `settings` are those of DecodeSettings, by name; prompt i is decoded with seed + i. A cancelled
    run reports on the prompts that it finished. Raises ExplorerError for bad settings and where
    nothing was finished.
    """
    cells = _cells(rules, temperatures, settings)
    texts: dict[Cell, list[ScoredText]] = {cell: [] for cell in cells}
    for number, record in enumerate(prompts):
        if progress:
            progress(f"prompt {number + 1} of {len(prompts)}", number / len(prompts))
        found = _replies(lab, record["prompt"], number, cells, cancel)
        if found is None:
            break
        for cell, text in found.items():
            texts[cell].append(text)
    if not any(texts.values()):
        raise ExplorerError("No prompt was finished, so there is no text to score.")
    return _report(lab, next(iter(cells.values())), texts)


def _cells(
    rules: Sequence[str], temperatures: Sequence[float], settings: dict[str, object]
) -> dict[Cell, DecodeSettings]:
    """The settings of every rule at every temperature, greedy first."""
    unknown = next((rule for rule in rules if rule not in RULES), None)
    if unknown is not None:
        raise ExplorerError(
            f"There is no acceptance rule '{unknown:.40}': choose from {', '.join(RULES)}."
        )
    pairs = [("greedy", 0.0)] if "greedy" in rules else []
    drawn = [rule for rule in RULES if rule in rules and rule != "greedy"]
    pairs += [(rule, t) for t in dict.fromkeys(temperatures) for rule in drawn]
    if not pairs:
        raise ExplorerError("There is nothing to compare: name a rule, and a temperature above 0.")
    return {
        (rule, t): decode_settings(**settings | {"acceptance": rule, "temperature": t})
        for rule, t in pairs
    }


def _replies(
    lab: LabProtocol,
    prompt: str,
    number: int,
    cells: dict[Cell, DecodeSettings],
    cancel: threading.Event | None,
) -> dict[Cell, ScoredText] | None:
    """Every cell's reply to one prompt, scored; None where it was cancelled."""
    found = {}
    for cell, settings in cells.items():
        seeded = settings.model_copy(update={"seed": settings.seed + number})
        trace = finished(lab.decode(prompt, seeded, cancel=cancel), cancel)
        if trace is None:
            return None
        found[cell] = _scored(lab.model, trace)
    return found


def _scored(model: LanguageModel, trace: Trace) -> ScoredText:
    tokens = trace.new_token_ids
    return ScoredText(
        tokens=len(tokens),
        steps=len(trace.steps),
        surprise=surprise(model, trace.header.prompt_ids, tokens),
    )


@torch.inference_mode()
def surprise(model: LanguageModel, prompt: Sequence[int], text: Sequence[int]) -> float:
    """−log P(text | prompt) under the base model, in nats, from one pass over both."""
    if not text:
        return 0.0
    tokens = torch.tensor([*prompt, *text], device=model.device)
    hidden = model.hidden_states(tokens[:-1])[len(prompt) - 1 :]  # predicts the text's tokens
    parts = zip(
        hidden.split(ROWS_AT_A_TIME), tokens[len(prompt) :].split(ROWS_AT_A_TIME), strict=True
    )
    return sum(
        F.cross_entropy(model.logits(states), targets, reduction="sum").item()
        for states, targets in parts
    )


def _report(
    lab: LabProtocol,
    settings: DecodeSettings,
    texts: dict[Cell, list[ScoredText]],
) -> PerplexityReport:
    model, chosen = lab.model, lab.heads_for(settings)
    return PerplexityReport(
        model=model.name,
        heads=chosen.name if chosen else None,
        backend=model.backend,
        device=str(model.device),
        method=settings.method,
        tree=settings.tree,
        epsilon=settings.epsilon,
        delta=settings.delta,
        root_rule=settings.root_rule,
        seed=settings.seed,
        max_new_tokens=settings.max_new_tokens,
        prompts=len(next(iter(texts.values()))),
        figures=[
            rule_figures(rule, temperature, found, texts.get(("sample", temperature)))
            for (rule, temperature), found in texts.items()
        ],
    )


def rule_figures(
    rule: str, temperature: float, texts: list[ScoredText], sampled: list[ScoredText] | None
) -> RuleFigures:
    """The figures of a rule at a temperature; `sampled`: the texts of the rule sample, if any."""
    tokens, steps = sum(text.tokens for text in texts), sum(text.steps for text in texts)
    return RuleFigures(
        rule=rule,
        temperature=temperature,
        lossless=rule != "typical",
        prompts=len(texts),
        tokens=tokens,
        steps=steps,
        tokens_per_step=tokens / steps,
        perplexity=_interval(*_mean_surprise(texts)),
        over_sample=_quotient(texts, sampled) if rule != "sample" and sampled else None,
    )


def _mean_surprise(texts: Iterable[ScoredText]) -> tuple[float, np.ndarray]:
    """Mean −log P of a token over all texts, and each text's influence on it."""
    counts = np.array([text.tokens for text in texts], dtype=float)
    totals = np.array([text.surprise for text in texts])
    mean = totals.sum() / counts.sum()
    return mean, (totals - mean * counts) / counts.mean()


def _quotient(texts: list[ScoredText], others: list[ScoredText]) -> Interval:
    (ours, influence), (theirs, other) = _mean_surprise(texts), _mean_surprise(others)
    return _interval(ours - theirs, influence - other)


def _interval(log_value: float, influence: np.ndarray) -> Interval:
    """exp of a mean and of its 95 % interval, from the influence of each prompt on the mean."""
    count = len(influence)
    if count < 2:
        return Interval(value=math.exp(log_value), low=None, high=None)
    error = math.sqrt((influence**2).sum() / (count * (count - 1)))
    half = stdtrit(count - 1, 0.975) * error
    low, high = math.exp(log_value - half), math.exp(log_value + half)
    return Interval(value=math.exp(log_value), low=low, high=high)
