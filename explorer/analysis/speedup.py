"""The speed of a run: pure functions of trace records.

The clock of a lane is the sum of its own step timings. It does not count recording and prefill
(prefill is reported separately), nor the other lane.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import stdtrit

from explorer.analysis.formulas import acceptance_rate
from explorer.analysis.race_reason import explained
from explorer.records.figures import LaneFigures, RaceFigures
from explorer.records.schema import Lane, Settings, Trace, TreeShape
from explorer.records.step import Step
from explorer.records.step_facts import StepFacts

MIN_RIVAL_TOKENS = 16  # fewer are too few for a measured figure
MAX_BLOCKS = 16
Standing = Literal["none", "unclear", "slow", "even", "fast"]
SLOWER, FASTER = 0.995, 1.005  # between them, two digits would show 1.00


@dataclass(frozen=True)
class Samples:
    """The steps of one lane: tokens emitted, and milliseconds. Both [steps]."""

    tokens: np.ndarray
    milliseconds: np.ndarray

    @classmethod
    def of_steps(cls, steps: Iterable[Step]) -> Samples:
        """The samples of a lane of steps."""
        return cls.of_pairs([(len(step.emitted), step.timings.step) for step in steps])

    @classmethod
    def of_pairs(cls, steps: Sequence[tuple[int, float]]) -> Samples:
        """The samples from tokens and milliseconds of each step."""
        table = np.array(steps, dtype=float).reshape(-1, 2)
        return cls(table[:, 0], table[:, 1])

    @classmethod
    def of_lane(cls, lane: Lane | None) -> Samples:
        """The samples of a lane; none of a lane that did not run."""
        return cls.of_steps(lane.steps if lane else ())


@dataclass(frozen=True)
class DepthAcceptance:
    """How often the steps that reached a depth accepted a node there."""

    depth: int
    accepted: int
    first_rejections: int
    rate: float | None


def lane_figures(samples: Samples) -> LaneFigures:
    """Tokens per second and per step of one lane, recording and prefill excluded."""
    tokens, seconds = samples.tokens.sum(), samples.milliseconds.sum() / 1000
    steps = len(samples.tokens)
    return LaneFigures(
        tokens=int(tokens),
        steps=steps,
        seconds=float(seconds),
        tokens_per_second=float(tokens / seconds) if seconds > 0 else None,
        tokens_per_step=float(tokens / steps) if steps else None,
        step_ms=float(1000 * seconds / steps) if steps else None,
    )


def race_figures(trace: Trace) -> RaceFigures:
    """The figures of a race so far; both lanes may still be running, or empty."""
    lanes = StepFacts.of_lane(trace), StepFacts.of_lane(trace.rival)
    return figures_of(*lanes, trace.header.settings)


def figures_of(
    lane: Sequence[StepFacts], rival: Sequence[StepFacts], settings: Settings | None
) -> RaceFigures:
    """`race_figures` from the facts of the steps so far; `settings` None: not known yet."""
    samples = (
        Samples.of_pairs([(step.tokens, step.milliseconds) for step in steps])
        for steps in (lane, rival)
    )
    return explained(compare(*samples), lane, rival, settings)


def compare(lane: Samples, rival: Samples) -> RaceFigures:
    """The figures of a race from samples, without their reason."""
    ours, theirs = lane_figures(lane), lane_figures(rival)
    speedup = None
    if ours.tokens_per_second is not None and theirs.tokens_per_second:
        speedup = ours.tokens_per_second / theirs.tokens_per_second
    relative = relative_half_width(lane, rival)
    half_width = None if speedup is None or relative is None else speedup * relative
    estimate = theirs.tokens < MIN_RIVAL_TOKENS
    kind, words = _standing(speedup, None if estimate else half_width)
    break_even = None
    if ours.step_ms is not None and theirs.tokens_per_second is not None:
        break_even = theirs.tokens_per_second * ours.step_ms / 1000
    return RaceFigures(
        lane=ours,
        rival=theirs,
        speedup=speedup,
        half_width=half_width,
        estimate=estimate,
        break_even=break_even,
        kind=kind,
        words=words,
    )


def with_figures(trace: Trace) -> Trace:
    """The trace with the figures of its race, so that a page can draw them without a server."""
    return trace.model_copy(update={"figures": race_figures(trace)})


def contains_one(speedup: float, half_width: float) -> bool:
    """Whether the interval of a speedup contains 1: then there is no clear difference."""
    return abs(speedup - 1) < half_width


def _standing(speedup: float | None, half_width: float | None) -> tuple[Standing, str]:
    """How the lane stands against its rival: a kind, and words with a place for its name."""
    if speedup is None:
        return "none", "nothing measured yet"
    if SLOWER <= speedup <= FASTER:
        return "even", "as fast as {rival}"
    if half_width is not None and contains_one(speedup, half_width):
        return "unclear", "no clear difference"
    if speedup < SLOWER:
        return "slow", "slower than {rival}"
    return "fast", "faster than {rival}"


def relative_half_width(lane: Samples, rival: Samples) -> float | None:
    """Half-width of the 95 % interval of the speedup, over the speedup; None below two steps.

    The logarithm of a ratio of sums is linear in its samples to first order (delta method); each
    lane's variance is taken between contiguous blocks of steps, because neighbouring steps are
    similar (the text, the machine's clock), and Student's t makes up for few blocks
    (Welch–Satterthwaite).
    """
    parts = [part for part in map(_log_rate_variance, (lane, rival)) if part is not None]
    if len(parts) < 2:
        return None
    total = sum(variance for variance, _ in parts)
    if total == 0:
        return 0.0
    freedom = total**2 / sum(variance**2 / degrees for variance, degrees in parts)
    return float(stdtrit(freedom, 0.975) * np.sqrt(total))


def _log_rate_variance(samples: Samples) -> tuple[float, int] | None:
    """Variance of log(tokens/s) and its degrees of freedom; None for fewer than two steps."""
    steps = len(samples.tokens)
    if steps < 2 or samples.milliseconds.sum() <= 0 or samples.tokens.sum() <= 0:
        return None
    influence = (
        samples.tokens / samples.tokens.mean() - samples.milliseconds / samples.milliseconds.mean()
    )
    # Blocks of at least four steps where there are enough of them, at most MAX_BLOCKS blocks.
    blocks = min(MAX_BLOCKS, max(2, steps // 4))
    sums = np.array([block.sum() for block in np.array_split(influence, blocks)])
    return float(blocks / (blocks - 1) * (sums**2).sum() / steps**2), blocks - 1


def acceptance_by_depth(steps: Iterable[Step], trees: Sequence[TreeShape]) -> list[DepthAcceptance]:
    """Acceptance of each depth, 1 first, up to the deepest tree that a step used.

    A step reaches depth d when it accepts a node at depth d − 1 whose children were judged: it
    then either accepts one of them, or rejects them all, which is one first rejection. Nodes below
    a rejected one were never judged (their verdict is "pruned") and do not count.
    """
    accepted: dict[int, int] = {}
    rejected: dict[int, int] = {}
    deepest = 0
    depths_of = [tree.depths for tree in trees]
    for step in steps:
        depths = depths_of[step.tree]
        deepest = max(deepest, *depths)
        taken = {depths[i] for i, verdict in enumerate(step.verdicts) if verdict == "accepted"}
        judged = {depths[i] for i, verdict in enumerate(step.verdicts) if verdict == "rejected"}
        for depth in taken:
            accepted[depth] = accepted.get(depth, 0) + 1
        for depth in judged - taken:
            rejected[depth] = rejected.get(depth, 0) + 1
    return [
        DepthAcceptance(d, a, r, acceptance_rate(a, r))
        for d in range(1, deepest + 1)
        for a, r in [(accepted.get(d, 0), rejected.get(d, 0))]
    ]
