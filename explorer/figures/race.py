"""Both lanes on one clock: tokens against seconds of a lane's own work."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from explorer.analysis.speedup import Samples, compare, lane_figures
from explorer.figures.base import axis, layout, legend, plotly_text
from explorer.figures.palette import ACCEPTED, PRUNED
from explorer.figures.speed import lane_words, speedup_words
from explorer.records.schema import PlainToken, Step
from explorer.records.summary import method_clock, plain_clock

HEIGHT = 280
LONGEST_NAME = 40  # characters of a method that a file names
OURS = {"color": ACCEPTED, "width": 2.5, "shape": "hv"}
THEIRS = {"color": PRUNED, "width": 2, "dash": "dash"}


def race_figure(
    steps: Sequence[Step], plain: Sequence[PlainToken], method: str = "medusa"
) -> go.Figure:
    """Tokens against seconds: `method` solid and stepped, plain dashed; prefill is not counted.

    The legend tells both lanes' speed, the title the speedup. Without a race there is one lane.
    """
    ours, theirs = Samples.of_steps(steps), Samples.of_plain(plain)
    lanes = [_lane(method, ours, method_clock(steps), OURS)]
    if plain:
        lanes.append(_lane("plain", theirs, plain_clock(plain), THEIRS))
    return go.Figure(
        lanes,
        layout(
            HEIGHT,
            title={"text": speedup_words(compare(ours, theirs)), "x": 0.02, "font": {"size": 15}},
            margin={"l": 48, "r": 10, "t": 64, "b": 40},
            xaxis=axis("seconds of decoding", rangemode="tozero"),
            yaxis=axis("tokens", rangemode="tozero", nticks=6),
            showlegend=True,
            legend=legend(),
            hovermode="x",
        ),
    )


def _lane(name: str, samples: Samples, clock: tuple[list[float], list[int]], line: dict) -> dict:
    seconds, tokens = clock
    return {
        "type": "scatter",
        "mode": "lines",
        "name": f"{plotly_text(name[:LONGEST_NAME])}: {lane_words(lane_figures(samples))}",
        "x": [0.0, *(round(second, 4) for second in seconds)],
        "y": [0, *tokens],
        "line": line,
        "hovertemplate": "%{y} tokens at %{x:.2f} s<extra></extra>",
    }
