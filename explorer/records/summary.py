"""Figures that follow from trace records alone: accepted drafts, and a lane's clock."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from explorer.records.step import Step


def accepted_drafts(step: Step) -> int:
    """Drafted tokens that the step added to the text, without the root."""
    return max(0, len(step.emitted) - 1)


def lane_clock(steps: Sequence[Step]) -> tuple[list[float], list[int]]:
    """Seconds of a lane's own work after each step, and tokens by then."""
    seconds = accumulate(step.timings.step / 1000 for step in steps)
    tokens = accumulate(len(step.emitted) for step in steps)
    return list(seconds), list(tokens)
