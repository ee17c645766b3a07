"""How fast a run was, in words: rates of both lanes, and the speedup with its interval."""

from __future__ import annotations

from explorer.analysis.speedup import LaneFigures, RaceFigures
from explorer.records.numbers import rate, ratio


def lane_words(lane: LaneFigures) -> str:
    """`45.7 tokens/s, 1.39 tokens per step`."""
    return f"{rate(lane.tokens_per_second)} tokens/s, {ratio(lane.tokens_per_step)} tokens per step"


def speedup_words(race: RaceFigures) -> str | None:
    """`1.06× ± 0.04, measured`, or that it is an estimate; None where there was no race."""
    if race.speedup is None:
        return None
    half_width = "" if race.half_width is None else f" ± {ratio(race.half_width)}"
    kind = "an estimate, the other lane is short" if race.estimate else "measured"
    return f"{ratio(race.speedup)}×{half_width}, {kind}"
