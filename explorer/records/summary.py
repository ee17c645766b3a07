"""Figures that follow from trace records alone: accepted drafts, and clocks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from explorer.records.schema import PlainToken, Step


def accepted_drafts(step: Step) -> int:
    """Drafted tokens that the step added to the text, without the root."""
    return max(0, len(step.emitted) - 1)


def method_clock(steps: Sequence[Step]) -> tuple[list[float], list[int]]:
    """Seconds of the method's own work after each step, and tokens by then."""
    seconds = accumulate(step.timings.step / 1000 for step in steps)
    tokens = accumulate(len(step.emitted) for step in steps)
    return list(seconds), list(tokens)


def plain_clock(plain: Sequence[PlainToken]) -> tuple[list[float], list[int]]:
    """Seconds of the plain lane's own work after each token, and tokens by then."""
    seconds = accumulate(token.milliseconds / 1000 for token in plain)
    return list(seconds), list(range(1, len(plain) + 1))
