"""Charts of the Tree lab: what a tree would do on recorded text at a machine's costs."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from explorer.analysis.cost_curve import CostCurve
from explorer.analysis.tree_lab import BudgetCurve, ShapeReport
from explorer.figures.base import axis, explorable, legend_below, plotly_text
from explorer.figures.palette import ACCEPTED, NEUTRAL, PINK, PRUNED, REJECTED, ROOT

WIDEST = 130  # rows that the cost chart shows


def budget_figure(budget: BudgetCurve, report: ShapeReport) -> go.Figure:
    """Speedup over the number of nodes, with the optimum, and the tree on view."""
    nodes = list(range(1, len(budget.speedups) + 1))
    line = go.Scatter(
        name="greedy tree", x=nodes, y=budget.speedups, mode="lines",
        line={"color": ACCEPTED, "width": 2.5}, customdata=budget.tokens_per_step,
        hovertemplate="%{x} nodes: %{y:.2f}×<br>%{customdata:.2f} tokens per step",
    )  # fmt: skip
    marks = [_mark("this tree", report.rows - 1, report.speedup, ROOT, "square")]
    if budget.best:
        best = budget.speedups[budget.best - 1]
        marks.insert(0, _mark("best", budget.best, best, ACCEPTED, "circle"))
    figure = go.Figure(
        [line, *marks],
        _chart(
            "Expected speedup by number of nodes",
            axis("nodes, the root not counted", rangemode="tozero", fixedrange=False),
            "expected speedup (×)",
        ),
    )
    figure.add_hline(1.0, line={"color": PRUNED, "dash": "dash", "width": 1})
    return figure


def _chart(title: str, xaxis: dict, y_title: str) -> dict:
    """The layout of a chart of lines: from 0 up, its legend below."""
    yaxis = axis(y_title, rangemode="tozero", fixedrange=False)
    return explorable(380, title, xaxis=xaxis, yaxis=yaxis, **legend_below())


def _mark(name: str, x: float, y: float, colour: str, symbol: str) -> go.Scatter:
    return go.Scatter(
        name=name, x=[x], y=[y], mode="markers",
        marker={"color": colour, "size": 11, "symbol": symbol},
        hovertemplate=f"{name}: %{{x}} nodes, %{{y:.2f}}×<extra></extra>",
    )  # fmt: skip


def independence_figure(report: ShapeReport, measured: float | None) -> go.Figure:
    """Tokens per step in four ways: what independence, and easy positions, leave out."""
    bars = {
        "product of accuracies, all positions": (report.product, NEUTRAL.format(0.9)),
        "joint counts, all positions": (report.joint, PINK),
        "joint counts, where steps start": (report.replayed, ROOT),
    }
    if measured is not None:
        bars["measured in the recorded runs"] = (measured, ACCEPTED)
    values = [value for value, _ in bars.values()]
    return go.Figure(
        go.Bar(
            orientation="h", y=list(bars), x=values, text=[f"{value:.3f}" for value in values],
            textposition="outside", cliponaxis=False,
            marker={"color": [colour for _, colour in bars.values()]},
            hovertemplate="%{y}: %{x:.3f}<extra></extra>",
        ),
        explorable(
            110 + 36 * len(bars),
            "Tokens per step, and independence taken apart",
            margin={"l": 8, "r": 56, "t": 48, "b": 44},
            xaxis=axis("tokens per step", rangemode="tozero", fixedrange=False),
            yaxis=axis(autorange="reversed", automargin=True),
        ),
    )  # fmt: skip


def cost_figure(curves: Sequence[tuple[str, CostCurve]], rows: int) -> go.Figure:
    """C(n) of the machine on view, and where the tree stands on it."""
    colours = (REJECTED, ROOT, ACCEPTED, PINK)
    lines = [
        go.Scatter(
            name=plotly_text(name), x=curve.rows, y=curve.ratios, mode="lines+markers",
            line={"color": colours[i % len(colours)]}, marker={"size": 5},
            customdata=curve.milliseconds,
            hovertemplate="%{x} rows: C = %{y:.2f}<br>%{customdata:.1f} ms",
        )
        for i, (name, curve) in enumerate(curves)
    ]  # fmt: skip
    figure = go.Figure(
        lines,
        _chart(
            "What a verify pass costs there, C(n)",
            axis("rows of the verify pass", type="log", fixedrange=False),
            "one-row passes",
        ),
    )
    if rows <= WIDEST:
        figure.add_vline(rows, line={"color": PRUNED, "dash": "dash", "width": 1})
    return figure
