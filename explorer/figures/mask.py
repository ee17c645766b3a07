"""The tree-attention mask: which rows of the verify pass a row may see."""

from __future__ import annotations

import plotly.graph_objects as go

from explorer.figures.base import axis, layout, plotly_text
from explorer.figures.palette import LOOKS, MONO, NEUTRAL, PRUNED
from explorer.figures.view import StepView
from explorer.records.numbers import count

LABEL_LIMIT = 9
CHARACTER = 0.61  # width of a monospaced character over its height
HEIGHT = 300  # of a mask that need not scroll
MIN_CELL, MAX_CELL = 13, 36  # pixels
MAX_NAMED_COLUMNS = 24  # more would overlap: the hover text names them
CODES = {"prefix": 0, "root": 1, "accepted": 2, "rejected": 3, "pruned": 4}
PREFIX_COLOUR = NEUTRAL.format(0.55)


def mask_figure(view: StepView) -> go.Figure:
    """A row per row of the verify pass; a filled cell means that the row sees the column.

    The first column stands for the whole prefix, which every row sees. Cells have the colour of
    the row's verdict; the signs before the labels (■ ● ○ ◇) say the same.
    """
    n = view.rows
    cells: list[list[int | None]] = [[CODES["prefix"]] + [None] * n for _ in range(n)]
    hover = [[_prefix_hover(view, row)] + [""] * n for row in range(n)]
    for row in range(n):
        for column in view.ancestors(row):
            cells[row][column + 1] = CODES[view.step.verdicts[row]]
            hover[row][column + 1] = _hover(view, row, column)
    return go.Figure(
        [_heatmap(cells, hover)],
        _layout(view, font=11 if n <= MAX_NAMED_COLUMNS else 9),
    )


def _heatmap(cells: list[list[int | None]], hover: list[list[str]]) -> dict:
    colours = [PREFIX_COLOUR] + [
        LOOKS[kind].colour if kind != "pruned" else PRUNED for kind in list(CODES)[1:]
    ]
    steps = len(colours)
    scale = [
        [edge / steps, colour] for i, colour in enumerate(colours) for edge in (i, i + 1)
    ]  # a stepped scale: code i lies in band i
    return {
        "type": "heatmap",
        "z": cells,
        "zmin": -0.5,
        "zmax": steps - 0.5,
        "colorscale": scale,
        "showscale": False,
        "xgap": 1.5,
        "ygap": 1.5,
        "text": hover,
        "hoverinfo": "text",
        "hoverongaps": False,
    }


def _hover(view: StepView, row: int, column: int) -> str:
    token = plotly_text(view.label(row))
    if row == column:
        return f"<b>{token}</b> sees itself<br>position {_position(view, row)}"
    return f"<b>{token}</b> sees its ancestor <b>{plotly_text(view.label(column))}</b>"


def _prefix_hover(view: StepView, row: int) -> str:
    length = count(view.step.context_length)
    return f"<b>{plotly_text(view.label(row))}</b> sees all {length} tokens of the prefix"


def _position(view: StepView, row: int) -> int:
    return view.step.context_length + view.depths[row]


def _layout(view: StepView, font: int) -> dict:
    n = view.rows
    labels = [
        f"{LOOKS[view.step.verdicts[row]].sign} {plotly_text(view.label(row, LABEL_LIMIT))}"
        for row in range(n)
    ]
    ticks = {
        "automargin": False,
        "tickmode": "array",
        "tickfont": {"family": MONO, "size": font},
        "showgrid": False,
    }
    prefix = f"prefix · {count(view.step.context_length)}"
    named = n <= MAX_NAMED_COLUMNS
    side = round(12 + font * CHARACTER * (LABEL_LIMIT + 2))
    top = round(10 + font * CHARACTER * max(LABEL_LIMIT + 2, len(prefix))) if named else 8
    fitting = (HEIGHT - top) // n  # few rows share the height, many grow beyond it
    return layout(
        top + n * max(MIN_CELL, min(MAX_CELL, fitting)),
        margin={"l": side, "r": 8, "t": top, "b": 6},
        plot_bgcolor=NEUTRAL.format(0.08),
        xaxis=axis(
            side="top",
            tickvals=list(range(n + 1)) if named else [],
            ticktext=[prefix, *labels] if named else [],
            tickangle=-90,
            range=[-0.5, n + 0.5],
            **ticks,
        ),
        yaxis=axis(tickvals=list(range(n)), ticktext=labels, range=[n - 0.5, -0.5], **ticks),
        hovermode="closest",
    )
