"""Both lanes on one clock: tokens against seconds of a lane's own work."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from explorer.figures.base import axis, layout, legend
from explorer.figures.palette import ACCEPTED, PRUNED
from explorer.tracing.schema import PlainToken, Step
from explorer.tracing.summary import medusa_clock, plain_clock

HEIGHT = 150


def race_figure(steps: Sequence[Step], plain: Sequence[PlainToken]) -> go.Figure:
    """Tokens against seconds: Medusa solid and stepped, plain dashed; prefill is not counted."""
    begun = bool(steps or plain)
    return go.Figure(
        [
            _lane("Medusa", medusa_clock(steps), {"color": ACCEPTED, "width": 2.5, "shape": "hv"}),
            _lane("plain", plain_clock(plain), {"color": PRUNED, "width": 2, "dash": "dash"}),
        ],
        layout(
            HEIGHT,
            margin={"l": 36, "r": 10, "t": 22, "b": 34},
            xaxis=axis("seconds of decoding", rangemode="tozero", range=None if begun else [0, 4]),
            yaxis=axis("tokens", rangemode="tozero", nticks=5, range=None if begun else [0, 100]),
            showlegend=True,
            legend=legend(),
            hovermode="x",
        ),
    )


def _lane(name: str, clock: tuple[list[float], list[int]], line: dict) -> dict:
    seconds, tokens = clock
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": [0.0, *(round(second, 4) for second in seconds)],
        "y": [0, *tokens],
        "line": line,
        "hovertemplate": f"{name}: %{{y}} tokens at %{{x:.2f}} s<extra></extra>",
    }
