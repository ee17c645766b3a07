"""The candidate tree of a step: what the heads guessed and what became of it."""

from __future__ import annotations

import plotly.graph_objects as go

from explorer.figures.base import layout, legend, plotly_text, text_columns
from explorer.figures.palette import LOOKS, MONO, NEUTRAL
from explorer.figures.tree_layout import Layout, tidy
from explorer.figures.view import StepView
from explorer.records.numbers import ordinal, probability
from explorer.records.sentences import NODES

LABEL_LIMIT = 11  # characters of a token on a label; the hover text shows more
COLUMN_PIXELS = 118
CHARACTER_PIXELS = 7.3
LABEL_OFFSET_PIXELS = 28
MIN_HEIGHT = 150
LEGEND_PIXELS = 36
TRUNK = 0.13  # how far before a node its branch turns, in columns
DRAWING_ORDER = ("pruned", "rejected", "bonus", "accepted", "root")
LABEL_COLOURS = {"pruned": "rgba(0,0,0,0.66)", "rejected": "rgba(0,0,0,0.9)"}


def tree_figure(view: StepView, selected: int | None = None) -> go.Figure:
    """The tree of one step; `selected` is a row to ring. The bonus token hangs on the path's end.

    Accepted: filled and thick. Rejected: ring and dotted. Never reached: small, faint, dashed.
    """
    kinds, labels, parents = _nodes(view)
    place = tidy(parents)
    traces = [
        trace
        for kind in DRAWING_ORDER
        if kind in kinds
        for trace in _traces_of(kind, kinds, labels, parents, place, view)
    ]
    if selected is not None and 0 <= selected < view.rows:
        traces.append(_ring(place, selected))
    line_pixels = 24 if place.height <= 14 else 18
    height = max(MIN_HEIGHT, place.height * line_pixels + LEGEND_PIXELS)
    return go.Figure(traces, _layout(place, height))


def _nodes(view: StepView) -> tuple[list[str], list[str], list[int]]:
    """Kind, label and parent of every row, and of the bonus token after them."""
    step = view.step
    kinds: list[str] = list(step.verdicts)
    labels = [view.label(row, LABEL_LIMIT) for row in range(view.rows)]
    parents = list(view.parents)
    if step.bonus is not None:
        kinds.append("bonus")
        labels.append(view.token(step.bonus, LABEL_LIMIT))
        parents.append(step.accepted[-1])
    return kinds, labels, parents


def _traces_of(
    kind: str,
    kinds: list[str],
    labels: list[str],
    parents: list[int],
    place: Layout,
    view: StepView,
) -> list[dict]:
    """The branches to the nodes of one kind, and the nodes with their labels."""
    look = LOOKS[kind]
    rows = [row for row, other in enumerate(kinds) if other == kind]
    xs: list[float | None] = []
    ys: list[float | None] = []
    for row in rows:
        if parents[row] >= 0:
            branch_x, branch_y = _branch(parents[row], row, labels, place)
            xs += branch_x
            ys += branch_y
    branches = {
        "type": "scatter",
        "mode": "lines",
        "x": xs,
        "y": ys,
        "line": {"color": look.colour, "width": look.width, "dash": look.dash},
        "hoverinfo": "skip",
        "showlegend": False,
    }
    nodes = {
        "type": "scatter",
        "mode": "markers+text",
        "x": [place.columns[row] for row in rows],
        "y": [place.lines[row] for row in rows],
        "marker": {"symbol": look.marker, "size": look.size, "color": look.colour}
        | {"line": {"width": 2, "color": look.colour}},
        "text": [f"\u2002{plotly_text(labels[row])}" for row in rows],
        "textposition": "middle right",
        "textfont": {
            "family": MONO,
            "size": 12,
            "weight": 700 if kind == "accepted" else 400,
            "color": LABEL_COLOURS.get(kind, "rgba(0,0,0,1)"),
        },
        "hovertext": [_hover(row, kind, view) for row in rows],
        "hoverinfo": "text",
        "name": " or ".join(dict.fromkeys(_meaning(row, kind, view) for row in rows)),
        "cliponaxis": False,
    }
    return [branches, nodes]


def _branch(
    parent: int, row: int, labels: list[str], place: Layout
) -> tuple[list[float | None], list[float | None]]:
    """From the end of the parent's label, along its line, down the trunk, to the node."""
    x, y = place.columns[row], place.lines[row]
    above = place.lines[parent]
    pixels = LABEL_OFFSET_PIXELS + CHARACTER_PIXELS * text_columns(labels[parent])
    start = place.columns[parent] + min(pixels / COLUMN_PIXELS, 1 - TRUNK - 0.04)
    trunk = x - TRUNK
    return [start, trunk, trunk, x - 0.05, None], [above, above, y, y, None]


def _hover(row: int, kind: str, view: StepView) -> str:
    step = view.step
    if kind == "bonus":
        prob = "" if step.bonus_prob is None else f"<br>base model {probability(step.bonus_prob)}"
        return f"<b>{plotly_text(view.token(step.bonus or 0))}</b><br>bonus: the next root{prob}"
    token = f"<b>{plotly_text(view.label(row))}</b>"
    if row == 0:
        return f"{token}<br>root: always emitted"
    return (
        f"{token}<br>depth {view.depths[row]}, {ordinal(view.rank(row) + 1)} guess"
        f"<br>drafted with {probability(step.draft_probs[row])}"
        f", path {probability(step.joint_probs[row])}"
        f"<br>base model {probability(step.base_probs[row])}, rank {step.base_ranks[row] + 1}"
        f"<br>{_meaning(row, kind, view)}"
    )


def _meaning(row: int, kind: str, view: StepView) -> str:
    """What became of a row, in the words of its rule where the record has them."""
    reasons = view.step.reasons
    code = "" if kind == "bonus" or reasons is None else reasons[row]
    return NODES[code][0] if code in NODES else LOOKS[kind].meaning


def _ring(place: Layout, row: int) -> dict:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [place.columns[row]],
        "y": [place.lines[row]],
        "marker": {
            "symbol": "circle-open",
            "size": 22,
            "color": NEUTRAL.format(1),
            "line": {"width": 1.5, "color": NEUTRAL.format(1)},
        },
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _layout(place: Layout, height: int) -> dict:
    hidden = {"visible": False, "fixedrange": True}
    columns = max(place.columns)
    # Few leaves stay together at the top instead of spreading over the whole height.
    lines = max(place.height, (MIN_HEIGHT - LEGEND_PIXELS) // 28)
    return layout(
        height,
        margin={"l": 8, "r": 8, "t": LEGEND_PIXELS, "b": 4},
        xaxis=hidden | {"range": [-0.12, max(columns, 3) + 0.95]},
        yaxis=hidden | {"range": [lines - 0.4, -0.6]},
        showlegend=True,
        legend=legend() | {"traceorder": "reversed"},
        hovermode="closest",
    )
