"""The losslessness audit: whether a greedy method writes the text of greedy plain decoding.

Every prompt is decoded both ways. Where the texts differ, the first difference is explained: a
numerical tie, if the two tokens' logits are closer than they move by batch shape alone on this
backend, and otherwise a divergence, which is a bug. The noise is the largest change of a margin
over a few texts, so the test is strict where that is 0 and weak where it is large: many positions
have a margin below it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import torch
from pydantic import BaseModel as Schema
from pydantic import ConfigDict, Field

from explorer.analysis.races import first_difference
from explorer.measuring.noise import WIDTHS, Noise, measure_noise, read_prompt
from explorer.records.events import finished
from explorer.records.progress import Progress
from explorer.records.prompts import Prompt
from explorer.records.settings import decode_settings

if TYPE_CHECKING:
    from explorer.measuring.lab_protocol import LabProtocol
    from explorer.models.base import LanguageModel

NOISE_TEXTS = 3  # texts to measure the noise on
NOISE_TOKENS = 64


class PromptAudit(Schema):
    """One prompt. The fields from `position` on describe the first difference, if there is one.

    `margin` is the float32 logit of plain's token minus that of the method's (`method_token`,
    whatever the method), by a one-row pass over plain's own text up to there.
    """

    model_config = ConfigDict(frozen=True)

    id: str
    category: str
    verdict: Literal["identical", "tie", "divergence"]
    tokens: int
    position: int | None = None  # index into the new tokens
    plain_token: int | None = None
    method_token: int | None = None
    margin: float | None = None
    explanation: str


class AuditReport(Schema):
    """The audit of many prompts. `noise` is in logits: how far a margin moves by batch shape."""

    model_config = ConfigDict(frozen=True)

    backend: str
    device: str
    method: str
    prompts: int
    tokens: int  # of the plain texts
    identical: int
    ties: int
    divergences: int
    noise: float
    logit_noise: float
    noise_by_pass: dict[str, float]
    noise_reaches: float = Field(
        default=0.0, description="share of positions whose two likeliest tokens it could swap"
    )
    hidden_bit_identical: bool
    details: list[PromptAudit]

    @property
    def sentence(self) -> str:
        """The result in words."""
        bits = (
            "hidden states are bit-identical across pass shapes"
            if self.hidden_bit_identical
            else f"batch shape alone moves logit margins by up to {self.noise:.2g}, which "
            f"could swap the two likeliest tokens at {100 * self.noise_reaches:.0f} % of "
            "positions: there any difference counts as a tie"
        )
        return (
            f"{self.identical} of {self.prompts} texts identical, {self.ties} numerical ties, "
            f"{self.divergences} divergences; {bits}."
        )


def audit(
    lab: LabProtocol,
    prompts: Sequence[Prompt],
    max_new_tokens: int = 128,
    method: str = "medusa",
    tree: str = "auto",
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
    **parameters: Any,
) -> AuditReport:
    """Decode every prompt greedily with `method` and plain, and explain each difference.

    `prompts` are records with "prompt" and optionally "id" and "category"; `parameters` are the
    method's own (records/methods.py). Raises ExplorerError for bad settings. A cancelled audit
    reports on the prompts that it finished.
    """
    model = lab.model
    plain = decode_settings(method="plain", max_new_tokens=max_new_tokens)
    fast = decode_settings(method=method, tree=tree, max_new_tokens=max_new_tokens, **parameters)
    runs = []
    for number, record in enumerate(prompts):
        if progress:
            progress(f"prompt {number + 1} of {len(prompts)}", number / len(prompts))
        slow_trace, fast_trace = (
            finished(lab.decode(record["prompt"], settings, cancel=cancel), cancel)
            for settings in (plain, fast)
        )
        if slow_trace is None or fast_trace is None:
            break
        ids, expected = slow_trace.header.prompt_ids, slow_trace.new_token_ids
        runs.append((record, ids, expected, fast_trace.new_token_ids))
    texts = [(ids, expected[:NOISE_TOKENS]) for _, ids, expected, _ in runs[:NOISE_TEXTS]]
    noise = measure_noise(model, texts, WIDTHS)
    details = [
        explain(model, noise, ids, expected, got, record, str(number), method)
        for number, (record, ids, expected, got) in enumerate(runs)
    ]
    return _report(model, method, noise, details)


def explain(
    model: LanguageModel,
    noise: Noise,
    prompt_ids: Sequence[int],
    expected: Sequence[int],
    got: Sequence[int],
    record: dict[str, str],
    default_id: str = "0",
    method: str = "medusa",
) -> PromptAudit:
    """The verdict on one prompt: `expected` is plain's text, `got` the method's (token ids)."""
    common = {
        "id": str(record.get("id", default_id)),
        "category": record.get("category", ""),
        "tokens": len(expected),
    }
    at = first_difference(expected, got)
    if at is None:
        return PromptAudit(**common, verdict="identical", explanation="Token for token the same.")
    ours, theirs = _token(expected, at), _token(got, at)
    where = {"position": at, "plain_token": ours, "method_token": theirs}
    if ours is None or theirs is None:
        longer = "plain" if theirs is None else method
        text = f"Divergence: after {at} equal tokens only {longer} continues. This is a bug."
        return PromptAudit(**common, **where, verdict="divergence", explanation=text)
    margin = _margin(model, prompt_ids, expected[:at], ours, theirs)
    verdict, text = _verdict(at, margin, noise.margin)
    return PromptAudit(**common, **where, verdict=verdict, margin=margin, explanation=text)


def _verdict(at: int, margin: float, noise: float) -> tuple[Literal["tie", "divergence"], str]:
    numbers = (
        f"at new token {at} the two tokens' logits are {margin:.4g} apart in a one-row pass, and "
        f"batch shape alone moves such margins by up to {noise:.4g} on this backend"
    )
    if abs(margin) < noise or margin == 0:
        return "tie", f"Numerical tie: {numbers}."
    return "divergence", f"Divergence: {numbers}. The difference is not numerical: a bug."


def _token(ids: Sequence[int], at: int) -> int | None:
    return ids[at] if at < len(ids) else None


@torch.inference_mode()
def _margin(
    model: LanguageModel, prompt: Sequence[int], text: Sequence[int], ours: int, theirs: int
) -> float:
    """Logit of `ours` minus that of `theirs` after prompt + text, computed as plain does."""
    one = torch.ones(1, 1, dtype=torch.bool)
    here = torch.zeros(1, dtype=torch.long)
    # Plain reads the prompt in one pass; its last row already holds the first prediction.
    cache = read_prompt(model, prompt[:-1] if not text else prompt)
    hidden = torch.empty(0)
    for token in text or prompt[-1:]:
        hidden = model.forward(torch.tensor([token]), here, one, cache)
        cache.commit([0])
    logits = model.logits(hidden)[0]
    return float(logits[ours] - logits[theirs])


def _report(
    model: LanguageModel, method: str, noise: Noise, details: Iterable[PromptAudit]
) -> AuditReport:
    details = list(details)
    count = {v: sum(d.verdict == v for d in details) for v in ("identical", "tie", "divergence")}
    return AuditReport(
        backend=model.backend,
        device=str(model.device),
        method=method,
        prompts=len(details),
        tokens=sum(d.tokens for d in details),
        identical=count["identical"],
        ties=count["tie"],
        divergences=count["divergence"],
        noise=noise.margin,
        logit_noise=noise.logit,
        noise_by_pass=noise.by_pass,
        noise_reaches=noise.within,
        hidden_bit_identical=noise.hidden_bit_identical,
        details=details,
    )
