"""A draft that does not fit: what it writes a step, and how much slower it makes decoding."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from explorer.analysis.formulas import break_even_acceptance, tree_speedup
from explorer.learn.recorded_comparison import compared, machine

TIMED, COUNTED = "timed", "counted"
KINDS = {
    "alpaca": "an instruction",
    "gsm8k": "a sum in words",
    "humaneval": "code",
    "qa": "a question",
    "sum": "a summary",
    "extraction": "extraction",
}


@dataclass(frozen=True)
class Fit:
    """One text, temperature or draft. `speedup` was timed, or is S′ of counted tokens per step."""

    name: str
    source: str
    acceptance: float | None
    tokens_per_step: float
    speedup: float


def costs() -> dict[str, float]:
    """Of a timed step of the shipped draft, in plain passes: verifying, drafting, the rest."""
    prediction = compared()["details"]["draft-model"]["prediction"]
    return {"verify": prediction["cost"], "draft": prediction["draft"], "rest": prediction["rest"]}


def step_cost() -> float:
    """What a step costs in plain passes: the tokens per step from which it pays."""
    return sum(costs().values())


def timed_speedup() -> dict[str, float]:
    """The shipped draft over all prompts of the recorded comparison."""
    found, details = compared()["methods"]["draft-model"], compared()["details"]["draft-model"]
    return {
        "speedup": found["speedup"],
        "half_width": details["half_width"],
        "tokens_per_step": found["tokens_per_step"],
        "prompts": compared()["prompts"],
    }


def numbers(k: int, ratio: float) -> dict[str, object]:
    """For the text; `k` and `ratio` are those of its worked example."""
    kinds = compared()["details"]["draft-model"]["per_category"].values()
    return {
        "step_cost": step_cost(),
        "break_even": break_even_acceptance(k, step_cost()),
        "free_break_even": break_even_acceptance(k, 1 + k * ratio),
        "timed": timed_speedup(),
        "slowest": min(one["speedup"] for one in kinds),
        "fastest": max(one["speedup"] for one in kinds),
    }


def data(drafts: dict[str, Any]) -> dict[str, Any]:
    """For the picture: every fit, the slope that they lie on, and where they pay."""
    return {
        "fits": [asdict(fit) for fit in fits(drafts)],
        "step_cost": step_cost(),
        "costs": costs(),
        "break_even": break_even_acceptance(drafts["draft_tokens"], step_cost()),
        "timed": timed_speedup(),
        "machine": machine(),
    }


def fits(drafts: dict[str, Any]) -> list[Fit]:
    """Prompts that were timed; kinds of text and temperatures that were counted."""
    trained = drafts["drafts"][0]
    kinds = {f"{name}, greedy": one for name, one in trained["by_kind"].items()}
    hot = {f"temperature {one['temperature']}": one for one in drafts["by_temperature"]}
    return [*_timed(), *(_counted(name, one) for name, one in (kinds | hot).items()), _cut(drafts)]


def _timed() -> list[Fit]:
    kinds = compared()["details"]["draft-model"]["per_category"].items()
    return [
        Fit(f"one prompt: {name}", TIMED, None, one["tokens_per_step"], one["speedup"])
        for name, one in sorted(kinds, key=lambda item: -item[1]["speedup"])
    ]


def _counted(name: str, one: dict[str, Any]) -> Fit:
    speedup = tree_speedup(one["tokens_per_step"], step_cost())
    return Fit(name, COUNTED, one["acceptance"], one["tokens_per_step"], speedup)


def _cut(drafts: dict[str, Any]) -> Fit:
    """The base model's own first layer, which nobody trained to guess; its cost is its bytes'."""
    one = next(draft for draft in drafts["drafts"] if draft["layers"] == 1)
    spent = costs()
    cost = spent["verify"] + spent["rest"] + drafts["draft_tokens"] * one["ratio"]
    speedup = tree_speedup(one["tokens_per_step"], cost)
    return Fit("untrained", COUNTED, one["acceptance"], one["tokens_per_step"], speedup)
