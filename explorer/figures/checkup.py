"""Charts of a doctor's checkup: the speedup ledger, the heads' accuracy, and its calibration."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from explorer.analysis.head_report import AccuracyReport
from explorer.analysis.ledger import Ledger
from explorer.figures.base import axis, explorable, legend_below, plotly_text
from explorer.figures.palette import ACCEPTED, NEUTRAL, PINK, PRUNED, REJECTED, ROOT

COLOURS = (ROOT, ACCEPTED, REJECTED, PINK, "#56b4e9", "#e69f00")
ROW = 34  # pixels of a bar and the gap after it


def ledger_figure(ledger: Ledger) -> go.Figure:
    """The waterfall from the ideal down to the measured speedup; hovering says what a fix gives."""
    names = ["ideal", *(term.title for term in ledger.terms), "measured"]
    values = [ledger.ideal, *(term.change for term in ledger.terms), ledger.measured]
    hover = [
        f"K + 1 = {ledger.ideal:.0f}: every draft right, passes as cheap as one row",
        *(f"without this: {term.if_fixed:.2f}× (estimate)" for term in ledger.terms),
        f"{ledger.tokens_per_step:.2f} tokens per step",
    ]
    bars = go.Waterfall(
        orientation="h",
        y=[plotly_text(name) for name in names],
        x=values,
        measure=["absolute", *["relative"] * len(ledger.terms), "total"],
        text=[f"{value:.2f}" for value in values],
        textposition="outside",
        customdata=hover,
        hovertemplate="%{y}: %{x:.2f}<br>%{customdata}<extra></extra>",
        increasing={"marker": {"color": ACCEPTED}},
        decreasing={"marker": {"color": REJECTED}},
        totals={"marker": {"color": ROOT}},
        connector={"line": {"color": NEUTRAL.format(0.5), "width": 1}},
    )
    return go.Figure(
        bars,
        explorable(
            120 + ROW * len(names),
            "Speedup ledger: from the ideal to the measured",
            margin={"l": 8, "r": 48, "t": 48, "b": 44},
            xaxis=axis("speedup over plain decoding (×)", rangemode="tozero"),
            yaxis=axis(autorange="reversed", automargin=True),
        ),
    )


def accuracy_figure(report: AccuracyReport) -> go.Figure:
    """Every head's accuracy counted in each of its ways."""
    heads = [f"head {head.head}" for head in report.heads]
    series = {
        "top-1": [head.top[1] for head in report.heads],
        "top-1, heads before right": [head.given_before for head in report.heads],
        "top-10": [head.top[10] for head in report.heads],
        "accepted, of steps that reached it": [head.conditional for head in report.heads],
        "accepted, of all steps": [head.per_position for head in report.heads],
    }
    bars = [
        go.Bar(name=name, x=heads, y=values, marker={"color": colour})
        for (name, values), colour in zip(series.items(), COLOURS, strict=False)
    ]
    return go.Figure(
        bars,
        explorable(
            400,
            "How often the heads are right",
            barmode="group",
            xaxis=axis(),
            yaxis=axis("share", range=[0, 1], tickformat=".0%"),
            **legend_below(),
        ),
    )


def kinds_figure(report: AccuracyReport) -> go.Figure:
    """Head 1's first guess by kind of prompt, and by part of the text."""
    parts = [f"part {i} of {len(report.by_part)}" for i in range(1, len(report.by_part) + 1)]
    kinds = [plotly_text(kind) for kind in report.by_kind]
    hover = [f"{tokens:.2f} tokens per step" for tokens in report.tokens_per_step_by_kind.values()]
    bars = [
        go.Bar(
            name="kind of prompt", x=kinds, y=list(report.by_kind.values()), customdata=hover,
            marker={"color": ROOT}, hovertemplate="%{x}: %{y:.1%}<br>%{customdata}",
        ),
        go.Bar(
            name="part of the text", x=parts, y=report.by_part, marker={"color": ACCEPTED},
            hovertemplate="%{x}: %{y:.1%}",
        ),
    ]  # fmt: skip
    return go.Figure(
        bars,
        explorable(
            400,
            "Head 1, by kind of prompt and along the text",
            xaxis=axis(automargin=True),
            yaxis=axis("top-1", rangemode="tozero", tickformat=".0%"),
            **legend_below(),
        ),
    )


def confidence_figure(report: AccuracyReport) -> go.Figure:
    """What each head promised, and what came true: on the diagonal, they are the same."""
    line = go.Scatter(
        x=[0, 1], y=[0, 1], mode="lines", hoverinfo="skip", showlegend=False,
        line={"color": PRUNED, "dash": "dash", "width": 1},
    )  # fmt: skip
    return go.Figure(
        [line, *(_confidence(head.head, head.confidence) for head in report.heads)],
        explorable(
            400,
            "What the heads promise, and what comes true",
            xaxis=axis("probability that the head gave", range=[0, 1], tickformat=".0%"),
            yaxis=axis("was right", range=[0, 1], tickformat=".0%"),
            **legend_below(),
        ),
    )


def _confidence(head: int, bins: Sequence) -> go.Scatter:
    return go.Scatter(
        name=f"head {head}",
        x=[each.promised for each in bins],
        y=[each.right for each in bins],
        customdata=[each.guesses for each in bins],
        mode="lines+markers",
        line={"color": COLOURS[(head - 1) % len(COLOURS)]},
        hovertemplate="promised %{x:.0%}, right %{y:.0%}<br>%{customdata} guesses",
    )
