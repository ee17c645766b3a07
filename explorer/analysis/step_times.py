"""Where the time of a race's steps went, over all races together."""

from __future__ import annotations

from collections.abc import Sequence

from explorer.analysis.speedup import Samples, lane_figures
from explorer.records.schema import Trace


def step_shares(traces: Sequence[Trace]) -> dict[str, float]:
    """Shares of a step: the heads, the verify pass, and bookkeeping, which is all else."""
    times = _times(traces)
    whole = sum(times.values())
    return {name: time / whole for name, time in times.items()} if whole else {}


def overhead_of(traces: Sequence[Trace]) -> float:
    """(T_heads + T_rest)/T₁ of the steps; T₁ is plain decoding's time per token."""
    times, steps = _times(traces), sum(len(trace.steps) for trace in traces)
    return (times["heads"] + times["bookkeeping"]) / steps * plain_rate(traces) / 1000


def plain_rate(traces: Sequence[Trace]) -> float:
    """Tokens per second of the plain lanes."""
    lanes = [lane_figures(Samples.of_lane(trace.rival)) for trace in traces]
    return sum(lane.tokens for lane in lanes) / sum(lane.seconds for lane in lanes)


def _times(traces: Sequence[Trace]) -> dict[str, float]:
    """Milliseconds of each part, recording not counted."""
    steps = [step.timings for trace in traces for step in trace.steps]
    return {
        "heads": sum(times.heads for times in steps),
        "verify": sum(times.verify for times in steps),
        "bookkeeping": sum(times.draft + times.accept + times.commit for times in steps),
    }
