"""Both lanes on one clock: tokens against seconds of a lane's own work."""

from __future__ import annotations

import plotly.graph_objects as go

from explorer.analysis.speedup import Samples, lane_figures, race_figures
from explorer.figures.base import axis, layout, legend, plotly_text
from explorer.figures.palette import ACCEPTED, PRUNED
from explorer.figures.speed import lane_words, speedup_words
from explorer.records.schema import Lane, Trace
from explorer.records.summary import lane_clock

HEIGHT = 280
LONGEST_NAME = 40  # characters of a method that a file names
OURS = {"color": ACCEPTED, "width": 2.5, "shape": "hv"}
THEIRS = {"color": PRUNED, "width": 2, "dash": "dash"}


def race_figure(trace: Trace) -> go.Figure:
    """Tokens against seconds: the run solid and stepped, its rival dashed; without prefill.

    The legend has the lanes' speed, the title the speedup. Without a race there is one lane.
    """
    lanes = [_lane(trace, OURS)]
    if trace.rival:
        lanes.append(_lane(trace.rival, THEIRS))
    return go.Figure(
        lanes,
        layout(
            HEIGHT,
            title={"text": speedup_words(race_figures(trace)), "x": 0.02, "font": {"size": 15}},
            margin={"l": 48, "r": 10, "t": 64, "b": 40},
            xaxis=axis("seconds of decoding", rangemode="tozero"),
            yaxis=axis("tokens", rangemode="tozero", nticks=6),
            showlegend=True,
            legend=legend(),
            hovermode="x",
        ),
    )


def _lane(lane: Lane, line: dict) -> dict:
    (seconds, tokens), name = lane_clock(lane.steps), lane.header.settings.method
    words = lane_words(lane_figures(Samples.of_lane(lane)))
    return {
        "type": "scatter",
        "mode": "lines",
        "name": f"{plotly_text(name[:LONGEST_NAME])}: {words}",
        "x": [0.0, *(round(second, 4) for second in seconds)],
        "y": [0, *tokens],
        "line": line,
        "hovertemplate": "%{y} tokens at %{x:.2f} s<extra></extra>",
    }
