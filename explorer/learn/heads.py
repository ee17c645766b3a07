"""Chapter 4: what a Medusa head is, and how far ahead it sees."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from explorer.analysis.foresight import foreseen, foresight, tokens_ahead
from explorer.analysis.formulas import head_parameters, weight_bytes
from explorer.analysis.joint_counts import MISS, rank_rows
from explorer.learn.chapter import Chapter, Own, See, Shown
from explorer.learn.formats import count, percent, plural
from explorer.learn.recorded_comparison import compared
from explorer.learn.recorded_runs import OWN, recorded_run
from explorer.records.errors import ExplorerError
from explorer.records.paths import ASSETS
from explorer.records.schema import Trace

RUN = "story"
RUNS = ("story", "code", "JSON", "translation")
TOP = 10
SHARES = (1, 3, 10)  # guesses of a head that are counted
SETTINGS = {"max_new_tokens": 64}


@dataclass(frozen=True)
class Base:
    """A base model that heads can be made for."""

    name: str
    parameters: float
    hidden: int
    vocabulary: int


VICUNA = Base("Vicuna 7B", 6.74e9, 4096, 32000)
LLAMA_70B = Base("Llama 2 70B", 68.98e9, 8192, 32000)
BASES = (VICUNA, Base("Llama 3 8B", 8.03e9, 4096, 128256), LLAMA_70B)
BASES += (Base("Llama 3 70B", 70.55e9, 8192, 128256),)


@cache
def shipped() -> dict[str, Any]:
    """The configuration of the shipped heads, with their recorded accuracy."""
    return json.loads((ASSETS / "heads" / "default" / "config.json").read_text(encoding="utf-8"))


@cache
def checked() -> dict[str, Any]:
    """The recorded examination of the same heads on other prompts."""
    return json.loads((ASSETS / "checkups" / "default.json").read_text(encoding="utf-8"))


def own_base() -> Base:
    """The default model."""
    config, facts = shipped(), checked()["heads"]
    name = facts["base_name"].partition(",")[0]
    return Base(name, facts["base_parameters"], config["hidden_size"], config["vocab_size"])


def own_parameters() -> int:
    """Of the shipped heads: they share one projection to the frequent tokens."""
    config = shipped()
    return head_parameters(
        config["hidden_size"],
        config["num_heads"],
        config["num_blocks"],
        config["draft_vocab_size"],
    )


def numbers() -> dict[str, object]:
    """Parameters of heads, and what the shipped ones get right."""
    config = shipped()
    one = _with_projection(VICUNA, 1)
    facts = checked()["heads"]
    return {
        "config": config,
        "top1": config["accuracy"]["top1"],
        "top10": config["accuracy"]["top10"],
        "foreign": checked()["accuracy"]["heads"][0]["top"]["1"],
        "foreign_prompts": checked()["prompts"],
        "kinds": tokens_by_kind("medusa"),
        "own": own_parameters(),
        "own_share": own_parameters() / own_base().parameters,
        "own_bytes": facts["bytes"] / facts["base_bytes"],
        "one": one,
        "shared": head_parameters(VICUNA.hidden, 1, 1, 0),
        "five": 5 * one,
        "five_share": 5 * one / VICUNA.parameters,
        "five_bytes": weight_bytes(5 * one, 16) / weight_bytes(VICUNA.parameters, 4),
        "large": _with_projection(LLAMA_70B, 1),
        "large_share": _with_projection(LLAMA_70B, 1) / LLAMA_70B.parameters,
        "large_five": _with_projection(LLAMA_70B, 5) / LLAMA_70B.parameters,
        "foreseen": foreseen(foresight(recorded_run(RUN)), TOP),
        "run": RUN,
        "top": TOP,
    }


def tokens_by_kind(method: str) -> list[dict[str, Any]]:
    """Tokens per step of a method by kind of prompt, least first: the recorded comparison's."""
    kinds = compared()["details"][method]["per_category"].items()
    written = [{"kind": kind, "tokens": one["tokens_per_step"]} for kind, one in kinds]
    return sorted(written, key=lambda one: one["tokens"])


def _with_projection(base: Base, heads: int) -> int:
    return head_parameters(base.hidden, heads, 1, heads * base.vocabulary)


def data() -> dict[str, object]:
    """The runs to map, the accuracies to draw, and the models to count for."""
    config, facts = shipped(), checked()["heads"]
    return {
        "runs": RUNS,
        "bases": [asdict(base) for base in (own_base(), *BASES)],
        "heads": {
            "count": config["num_heads"],
            "blocks": config["num_blocks"],
            "vocabulary": config["draft_vocab_size"],
            "bytes": facts["bytes"],
            "base_bytes": facts["base_bytes"],
        },
        "accuracy": _shipped_accuracy(),
        "question": _question(recorded_run(RUN), "the recorded story"),
    }


def _shipped_accuracy() -> dict[str, object]:
    accuracy = shipped()["accuracy"]
    return {
        "title": "How often the shipped heads are right",
        "source": f"Measured when they were trained: {accuracy['text']}.",
        "shares": {top: accuracy[f"top{top}"] for top in SHARES},
    }


def _accuracy_in(trace: Trace) -> dict[str, object] | None:
    """How often each head was right in a run; None of a run without known positions."""
    ranks = rank_rows(trace)
    if not len(ranks):
        return None
    right = {top: ((ranks != MISS) & (ranks < top)).mean(0).tolist() for top in SHARES}
    return {
        "title": "How often the heads were right in your run",
        "source": f"Counted over the {plural(len(ranks), 'position')} of your run whose tokens "
        "are all known.",
        "shares": right,
    }


def _question(trace: Trace, whose: str) -> dict[str, object]:
    tokens, heads = foresight(trace), trace.header.num_heads
    far = sum(tokens_ahead(known, TOP) == heads for known in tokens)
    options = sorted({far // 2, far, (far + len(tokens)) // 2, len(tokens)})
    return {
        "ask": f"How many of the {len(tokens)} tokens of {whose} did head {heads} have "
        f"among its {TOP} best guesses, {heads} tokens ahead?",
        "options": [count(each) for each in options],
        "right": options.index(far),
        "why": f"{far} of {len(tokens)}, {percent(far / len(tokens))}: choose “best {TOP}” above "
        "and count the strongest shade.",
    }


def _along_path(trace: Trace) -> bool:
    shown = trace.header.shown
    known = shown.along_path if shown else None
    return trace.header.settings.method == "hydra" if known is None else known


def own(trace: Trace) -> Shown:
    """The same of another run. Raises ExplorerError where no head guessed anything, and where
    heads read the tokens between: then a guess was not made as many tokens ahead.
    """
    if _along_path(trace):
        raise ExplorerError(
            "Your last run has heads that read the guesses before their own (Hydra), and here it "
            "is asked what was known before those: run a prompt of your own here, on a model with "
            "Medusa heads."
        )
    accuracy = _accuracy_in(trace) if trace.header.num_heads and trace.steps else None
    if accuracy is None:
        raise ExplorerError(
            "Your last run is too short or has no guesses of heads: run a prompt of your own here, "
            "on a model with heads."
        )
    longest = max(trace.steps, key=lambda step: len(step.accepted))
    shown = {"accuracy": accuracy, "question": _question(trace, OWN)}
    return Shown(shown, longest.index + 1)


def see() -> See:
    """The step in which the heads saw farthest."""
    steps = recorded_run("code").steps
    longest = max(steps, key=lambda step: len(step.accepted))
    return See(
        "code", longest.index + 1, f"{len(longest.accepted) - 1} guesses of heads are right."
    )


CHAPTER = Chapter("heads", "Medusa heads", numbers, data, see, Own(SETTINGS, own))
