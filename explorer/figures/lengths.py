"""Accepted lengths over time: a bar for each step."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from explorer.figures.base import axis, layout
from explorer.figures.palette import ACCEPTED, NEUTRAL, ROOT
from explorer.figures.view import step_number
from explorer.records.numbers import plural
from explorer.records.step import Step
from explorer.records.summary import accepted_drafts

HEIGHT = 150
MIN_STEPS = 24  # the bars of a young run do not fill the whole width


def lengths_figure(steps: Sequence[Step], selected: int | None = None) -> go.Figure:
    """Tokens each step (from 0) added: the root (blue) and the accepted drafts on it (green).

    `selected` is the step that a band marks, as in `step_number`. Raises ExplorerError.
    """
    numbers = list(range(len(steps)))
    drafts = [accepted_drafts(step) for step in steps]
    roots = [min(1, len(step.emitted)) for step in steps]
    hover = [
        f"step {number}: {plural(len(step.emitted), 'token')}"
        for number, step in zip(numbers, steps, strict=True)
    ]
    bar = {"type": "bar", "x": numbers, "hovertext": hover, "hoverinfo": "text"}
    most = max([root + draft for root, draft in zip(roots, drafts, strict=True)], default=1)
    return go.Figure(
        [
            bar | {"y": roots, "name": "root", "marker": {"color": ROOT, "opacity": 0.55}},
            bar | {"y": drafts, "name": "accepted drafts", "marker": {"color": ACCEPTED}},
        ],
        layout(
            HEIGHT,
            margin={"l": 44, "r": 10, "t": 8, "b": 40},
            barmode="stack",
            bargap=0.25,
            xaxis=axis("step", range=[-0.6, max(len(steps), MIN_STEPS) - 0.4], showgrid=False),
            yaxis=axis("tokens", range=[0, max(most, 3) + 0.3], dtick=1 if most <= 5 else None),
            hovermode="closest",
            shapes=[] if selected is None else [_band(step_number(steps, selected))],
        ),
    )


def _band(number: int) -> dict:
    return {
        "type": "rect",
        "xref": "x",
        "yref": "paper",
        "x0": number - 0.5,
        "x1": number + 0.5,
        "y0": 0,
        "y1": 1,
        "fillcolor": NEUTRAL.format(0.28),
        "line": {"width": 1, "color": NEUTRAL.format(0.9)},
        "layer": "below",
    }
