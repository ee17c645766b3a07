"""Why a race came out as it did, in one sentence, with what to look at or try next.

Everything here follows from the race's own times and rows; no cause is named that was not timed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from explorer.records.figures import RaceFigures, Suggestion
from explorer.records.schema import Settings
from explorer.records.step_facts import StepFacts

BUSY = 2.0  # slow passes over quick ones, both of the same width, from which a machine is busy
MIN_PASSES = 10  # fewer say nothing about the machine
UNRELIABLE = "timings unreliable"
SHAPED = ("medusa", "hydra")  # methods whose tree a reader chooses


def explained(
    figures: RaceFigures,
    lane: Sequence[StepFacts],
    rival: Sequence[StepFacts],
    settings: Settings | None,
) -> RaceFigures:
    """The figures with their reason, a suggestion, and the step that says most."""
    telling = telling_step(lane)
    if figures.speedup is None or settings is None:
        return figures.model_copy(update={"telling_step": telling})
    times = spread(rival)
    if is_busy(*times):
        busy = {
            "kind": "busy",
            "words": UNRELIABLE,
            "reason": busy_sentence("{rival}", *times),
            "suggestion": Suggestion(does="run", label="Run it again"),
        }
        return figures.model_copy(update=busy | {"telling_step": telling})
    why = {"reason": _reason(figures, lane, rival), "telling_step": telling}
    return figures.model_copy(
        update=why | {"suggestion": _suggestion(figures, lane, settings, telling)}
    )


def telling_step(lane: Sequence[StepFacts]) -> int | None:
    """The step that shows most: several tokens, and a rejected guess.

    Steps without a pass show nothing; None without a pass.
    """
    passes = [(i, step) for i, step in enumerate(lane) if step.verify > 0]
    if not passes:
        return None

    def shown(one: tuple[int, StepFacts]) -> tuple[bool, bool, int, int]:
        _, step = one
        return step.tokens > 1, step.rejected > 0, step.tokens, step.rejected

    return max(passes, key=shown)[0]


def spread(lane: Iterable[StepFacts]) -> tuple[float, float]:
    """The quickest and slowest tenth of a lane's passes of one width: milliseconds of each.

    Both are 0 where the lane has too few passes.
    """
    passes = [(step.rows, step.verify) for step in lane if step.verify > 0]
    if len(passes) < MIN_PASSES:
        return 0.0, 0.0
    width = Counter(rows for rows, _ in passes).most_common(1)[0][0]
    times = [verify for rows, verify in passes if rows == width]
    quick, slow = np.quantile(times, (0.1, 0.9))
    return float(quick), float(slow)


def is_busy(quick: float, slow: float) -> bool:
    """Whether equal passes that took from `quick` to `slow` milliseconds tell of a busy machine."""
    return slow > BUSY * quick


def busy_sentence(lane: str, quick: float, slow: float) -> str:
    """Why the speeds of a race against `lane` say little."""
    return (
        f"This machine is busy: the same pass of {lane} took {quick:.0f} ms or {slow:.0f} ms, so "
        "the speeds say little."
    )


def _reason(figures: RaceFigures, lane: Sequence[StepFacts], rival: Sequence[StepFacts]) -> str:
    ours, theirs = figures.lane, figures.rival
    if not (ours.step_ms and theirs.step_ms and ours.tokens_per_step and theirs.tokens_per_step):
        return ""
    cost, made = ours.step_ms / theirs.step_ms, ours.tokens_per_step
    slow = figures.speedup is not None and figures.speedup < 1
    link = "and writes only" if slow else "and writes" if cost < 1 else "but writes"
    versus = f" to its {theirs.tokens_per_step:.2f}" if theirs.tokens_per_step > 1.005 else ""
    text = (
        f"Each step takes {cost:.2f} times as long as a step of {{rival}} {link} "
        f"{made:.2f} tokens{versus}"
    )
    return f"{text}{_where(lane, rival) if slow and cost > 1 else ''}."


def _where(lane: Sequence[StepFacts], rival: Sequence[StepFacts]) -> str:
    """Where most of a lane's extra time goes, as the end of a sentence; empty if nowhere does."""

    def mean(steps: Sequence[StepFacts], name: str) -> float:
        return sum(getattr(step, name) for step in steps) / len(steps)

    def is_most(name: str) -> bool:
        return 2 * (mean(lane, name) - mean(rival, name)) > extra

    extra = mean(lane, "milliseconds") - mean(rival, "milliseconds")
    if is_most("guessing"):
        return ": most of the extra time goes into guessing"
    if not is_most("verify"):
        return ""
    rows = mean([step for step in lane if step.verify > 0], "rows")  # the last step may have none
    return f": most of the extra time goes into checking {rows:.0f} rows at once"


def _suggestion(
    figures: RaceFigures, lane: Sequence[StepFacts], settings: Settings, telling: int | None
) -> Suggestion | None:
    if figures.kind == "slow" and settings.method in SHAPED and settings.tree != "auto":
        return Suggestion(does="run", label="Run it with the tree auto", settings={"tree": "auto"})
    if figures.kind == "unclear":
        if figures.lane.tokens < settings.max_new_tokens:
            return Suggestion(does="run", label="Run it again")
        longer = 2 * settings.max_new_tokens
        return Suggestion(
            does="run", label=f"Run it over {longer} tokens", settings={"max_new_tokens": longer}
        )
    if telling is None:
        return None
    tokens = lane[telling].tokens
    if tokens == 1:  # as plain decoding does: nothing to show
        return None
    label = f"Show a step that wrote {tokens} tokens"
    return Suggestion(does="look", label=label, step=telling)
