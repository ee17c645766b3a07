"""The results of a run and a race as plain JSON, for the command line and the web API."""

from __future__ import annotations

from typing import Any

from explorer.analysis.speedup import Samples, compare, lane_figures
from explorer.records.methods import PLAIN
from explorer.records.schema import Trace
from explorer.records.text import join_pieces


def run_result(trace: Trace) -> dict[str, Any]:
    """The figures of a run. `seconds` is the lane's own clock, without prefill and recording."""
    header, token_ids = trace.header, trace.new_token_ids
    figures = lane_figures(Samples.of_lane(trace))
    shown = [token for token in token_ids if token not in header.eos_ids]
    return {
        "text": join_pieces(trace.pieces, shown),
        "token_ids": token_ids,
        "method": header.settings.method,
        "steps": figures.steps,
        "new_tokens": len(token_ids),
        "continued_tokens": header.continued_tokens,
        "tokens_per_step": figures.tokens_per_step,
        "seconds": figures.seconds,
        "tokens_per_second": figures.tokens_per_second,
        "prefill_seconds": header.prefill_ms / 1000,
        "model": header.model,
        "tuned": header.tuned,
        "heads": header.heads,
        "backend": header.backend,
        "device": header.device,
        "settings": header.settings.model_dump(),
    }


def race_result(traces: dict[str, Trace]) -> dict[str, Any]:
    """The figures of a race, plain first. `speedup`, `half_width` and `estimate` are of the
    second lane.

    `identical` compares lanes with plain token for token.
    """
    plain = Samples.of_lane(traces[PLAIN])
    figures = {name: compare(Samples.of_lane(t), plain) for name, t in traces.items()}
    main = list(traces)[1]
    header, tokens = traces[main].header, traces[main].new_token_ids
    lanes = {name: _lane(trace) for name, trace in traces.items()}
    for name, lane in lanes.items():
        lane["speedup"] = None if name == PLAIN else figures[name].speedup
        lane["half_width"] = None if name == PLAIN else figures[name].half_width
        lane["identical"] = lane["token_ids"] == lanes[PLAIN]["token_ids"]
    return {
        "lanes": lanes,
        "speedup": figures[main].speedup,
        "half_width": figures[main].half_width,
        "estimate": figures[main].estimate,
        "identical": all(lane["identical"] for lane in lanes.values()),
        "text": join_pieces(traces[main].pieces, [t for t in tokens if t not in header.eos_ids]),
        "model": header.model,
        "heads": header.heads,
        "backend": header.backend,
        "device": header.device,
        "settings": header.settings.model_dump(),
    }


def _lane(trace: Trace) -> dict[str, Any]:
    lane = lane_figures(Samples.of_lane(trace))
    return {
        "tokens_per_second": lane.tokens_per_second,
        "tokens_per_step": lane.tokens_per_step,
        "seconds": lane.seconds,
        "steps": lane.steps,
        "new_tokens": lane.tokens,
        "prefill_seconds": trace.header.prefill_ms / 1000,
        "token_ids": trace.new_token_ids,
    }
