"""Figures of the Serve page: how far drafts were accepted, what speculation gains under load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from explorer.figures.base import axis, layout, legend, plotly_text
from explorer.figures.palette import ACCEPTED, NEUTRAL, PINK, PRUNED, ROOT
from explorer.figures.serving_words import gains
from explorer.records.numbers import rate, ratio
from explorer.records.serving import LoadFigures, Percentiles, Speculation

if TYPE_CHECKING:
    import plotly.graph_objects as go

HEIGHT = 284
MARGINS = {"l": 48, "r": 12, "t": 58, "b": 42}  # the title stands over the picture
SERIES = ((ACCEPTED, ""), (ROOT, "/"), (PINK, "x"), (PRUNED, "."))  # colour, hatching
DASHES = {"speculative": ("solid", "circle"), "plain": ("dash", "square")}
CLEAR = "rgba(0,0,0,0)"  # the page's own ground, light or dark


def acceptance_figure(series: Mapping[str, Speculation]) -> go.Figure:
    """Of all steps, the share that accepted the draft at each position; one bar per engine."""
    import plotly.graph_objects as go

    bars = [
        go.Bar(
            name=plotly_text(name),
            x=[str(position) for position, _ in enumerate(found.shares, start=1)],
            y=found.shares,
            text=[f"{share:.0%}" for share in found.shares],
            textposition="outside",
            marker={"color": colour, "pattern": {"shape": hatch, "fillmode": "overlay"}},
            hovertemplate="draft %{x}: in %{y:.1%} of steps<extra>%{fullData.name}</extra>",
        )
        for (name, found), (colour, hatch) in zip(series.items(), SERIES, strict=False)
    ]
    highest = max((share for found in series.values() for share in found.shares), default=1.0)
    return go.Figure(
        bars,
        _layout(
            xaxis=axis("position of the draft in its step", type="category"),
            yaxis=axis("accepted, of all steps", tickformat=".0%", range=[0, 1.15 * highest]),
            bargap=0.3,
            margin=MARGINS | {"t": 40 + 19 * len(bars)},  # long names stand below each other
        ),
    )


def gain_figure(speculative: Sequence[LoadFigures], plain: Sequence[LoadFigures]) -> go.Figure:
    """Tokens per second against requests at a time; where both were measured, their ratio."""
    import plotly.graph_objects as go

    ratios = dict(gains(speculative, plain))
    lines = [
        _line("speculative", speculative, ACCEPTED, ratios),
        _line("plain", plain, ROOT, {}),
    ]
    levels = sorted({found.concurrency for found in (*speculative, *plain)})
    return go.Figure(
        [line for line in lines if line.x is not None and len(tuple(line.x))],
        _layout(
            xaxis=axis(
                "requests at a time", type="log", tickvals=levels, ticktext=list(map(str, levels))
            ),
            yaxis=axis("tokens/s of all together", rangemode="tozero"),
        ),
    )


def _line(
    name: str, points: Sequence[LoadFigures], colour: str, ratios: Mapping[int, float]
) -> go.Scatter:
    """A line over the load; a ratio stands above its point where it is a gain, else below."""
    import plotly.graph_objects as go

    dash, marker = DASHES[name]
    ordered = sorted(points, key=lambda found: found.concurrency)
    gains = [ratios.get(found.concurrency) for found in ordered]
    return go.Scatter(
        name=name,
        mode="lines+markers+text",
        x=[found.concurrency for found in ordered],
        y=[found.tokens_per_second for found in ordered],
        text=["" if gain is None else f"{ratio(gain)}×" for gain in gains],
        customdata=[rate(found.tokens_per_second) for found in ordered],
        textposition=[f"{'top' if (gain or 1) >= 1 else 'bottom'} center" for gain in gains],
        line={"color": colour, "dash": dash, "width": 2},
        marker={"symbol": marker, "size": 8},
        hovertemplate="%{x} at a time: %{customdata} tokens/s<extra>%{fullData.name}</extra>",
    )


def latency_figure(speculative: Sequence[LoadFigures], plain: Sequence[LoadFigures]) -> go.Figure:
    """Milliseconds per token after the first, against requests at a time: half of the requests
    lie below the line, nine tenths below the end of the bar."""
    import plotly.graph_objects as go

    lines = []
    for name, points, colour in (("speculative", speculative, ACCEPTED), ("plain", plain, ROOT)):
        found: list[tuple[int, Percentiles]] = sorted(
            (point.concurrency, point.per_token) for point in points if point.per_token
        )  # concurrency differs, so percentiles are never compared
        if not found:
            continue
        dash, marker = DASHES[name]
        lines.append(
            go.Scatter(
                name=name,
                mode="lines+markers",
                x=[level for level, _ in found],
                y=[1000 * times.p50 for _, times in found],
                error_y={
                    "type": "data",
                    "array": [1000 * (times.p90 - times.p50) for _, times in found],
                    "arrayminus": [0.0] * len(found),
                    "thickness": 1,
                },
                line={"color": colour, "dash": dash, "width": 2},
                marker={"symbol": marker, "size": 8},
                hovertemplate="%{x} at a time: %{y:.1f} ms<extra>%{fullData.name}</extra>",
            )
        )
    levels = sorted({found.concurrency for found in (*speculative, *plain)})
    return go.Figure(
        lines,
        _layout(
            xaxis=axis(
                "requests at a time", type="log", tickvals=levels, ticktext=list(map(str, levels))
            ),
            yaxis=axis("ms per token after the first", rangemode="tozero"),
        ),
    )


def _layout(**more: object) -> dict:
    grey = NEUTRAL.format(1)
    return (
        layout(
            HEIGHT,
            paper_bgcolor=CLEAR,
            plot_bgcolor=CLEAR,
            margin=MARGINS,
            font={"size": 12, "color": grey},
            showlegend=True,
            legend=legend(1.02),
        )
        | more
    )
