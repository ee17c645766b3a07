"""The report of a GPU check as one HTML file, which opens offline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import plotly.graph_objects as go

from explorer.analysis.gpu_report import GpuReport
from explorer.figures.base import axis, explorable, legend_below, plotly_text
from explorer.figures.checkup_page import CONFIG, STYLE
from explorer.figures.palette import ACCEPTED, PRUNED, ROOT


def gpu_page(report: GpuReport) -> str:
    """The page: what holds, what was measured, and how it stands to the bars."""
    figures = (cost_figure(report), speedup_figure(report), heads_figure(report))
    parts = [
        f"<h1>GPU check: {escape(report.device)}</h1>",
        f"<p>{escape(_summary(report))}</p>",
        f"<h2>Bars</h2>{_table(('bar', 'wanted', 'measured', ''), _bars(report))}",
        f"<h2>Checks</h2>{_table(('check', 'measured', 'at most', 'of', ''), _checks(report))}",
        *_drawn(figures),
        f"<h2>The machine</h2>{_table(('', ''), _machine(report))}",
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>GPU check</title><style>{STYLE}</style></head>"
        f"<body>{''.join(parts)}</body></html>\n"
    )


def _summary(report: GpuReport) -> str:
    row = report.one_row
    where = "" if report.on_gpu else " There is no GPU here: nothing is judged."
    return (
        f"{report.model}, {report.backend}. {report.passes} A one-row pass took "
        f"{row.fixed_shapes_ms:.2f} ms, {row.over_floor:.2f} times its floor of "
        f"{row.floor_ms:.2f} ms ({row.bytes / 1e6:.0f} MB at {report.rates.copy_gb_s:.0f} GB/s, "
        f"products {row.arithmetic_ms:.3f} ms); eager {row.eager_ms:.2f} ms.{where}"
    )


def cost_figure(report: GpuReport) -> go.Figure:
    """C(n) in fixed shapes and eager, each over its own one-row pass."""
    curves = (("fixed shapes", report.fixed_shapes, ACCEPTED), ("eager", report.eager, ROOT))
    lines = [
        go.Scatter(
            name=name, x=curve.rows, y=curve.ratios, customdata=curve.milliseconds,
            mode="lines+markers", line={"color": colour, "dash": dash},
            hovertemplate="%{x} rows: %{y:.2f} one-row passes, %{customdata:.2f} ms",
        )
        for (name, curve, colour), dash in zip(curves, ("solid", "dot"), strict=True)
    ]  # fmt: skip
    ticks = list(report.fixed_shapes.rows)
    rows = axis(
        "rows of the verify pass", type="log", tickvals=ticks, ticktext=list(map(str, ticks))
    )
    return go.Figure(lines, _chart("What a pass over n rows costs, C(n)", rows, "one-row passes"))


def speedup_figure(report: GpuReport) -> go.Figure:
    """The speedup over plain decoding by tokens per step, with guesses that are right so often."""
    points = report.yields
    line = go.Scatter(
        name="measured", x=[p.measured for p in points], y=[p.speedup for p in points],
        mode="lines+markers", line={"color": ACCEPTED},
        hovertemplate="%{x:.2f} tokens per step: %{y:.2f}×",
    )  # fmt: skip
    free = go.Scatter(
        name="if steps cost what plain ones do", x=[p.measured for p in points],
        y=[p.measured for p in points], mode="lines", line={"color": PRUNED, "dash": "dash"},
    )  # fmt: skip
    title = f"Speedup with a tree of {report.tree_rows} rows and oracle guesses"
    return go.Figure(
        [line, free], _chart(title, axis("tokens per step"), "over plain decoding (×)")
    )


def heads_figure(report: GpuReport) -> go.Figure:
    """A draft's milliseconds by the kind of the heads' projection."""
    bars = go.Bar(
        x=[f"{plotly_text(cost.kind)}<br>{cost.bytes / 1e6:.0f} MB" for cost in report.heads],
        y=[cost.milliseconds for cost in report.heads],
        marker={"color": ACCEPTED},
        hovertemplate="%{y:.2f} ms<extra></extra>",
    )
    layout = explorable(280, "What a draft of the heads costs", xaxis=axis(), yaxis=axis("ms"))
    return go.Figure([bars], layout)


def _chart(title: str, xaxis: dict, unit: str) -> dict:
    return explorable(
        380, title, xaxis=xaxis, yaxis=axis(unit, rangemode="tozero"), **legend_below()
    )


def _drawn(figures: Sequence[go.Figure]) -> list[str]:
    return [
        figure.to_html(full_html=False, include_plotlyjs=number == 0, config=CONFIG)
        for number, figure in enumerate(figures)
    ]


def _bars(report: GpuReport) -> Iterable[tuple[str, ...]]:
    said = {True: "met", False: "missed", None: "not judged"}
    for bar in report.bars:
        value = "–" if bar.measured is None else f"{bar.measured:.3f}"
        yield bar.name, bar.bar, value, said[bar.met]


def _checks(report: GpuReport) -> Iterable[tuple[str, ...]]:
    for check in report.checks:
        yield (
            check.name, f"{check.measured:.4g}", f"{check.limit:g}", check.of,
            "holds" if check.ok else "FAILS",
        )  # fmt: skip


def _machine(report: GpuReport) -> Iterable[tuple[str, str]]:
    yield "device", report.device
    yield "driver", report.driver
    yield "versions", ", ".join(f"{name} {number}" for name, number in report.versions.items())
    yield "read, copied", f"{report.rates.read_gb_s:.0f} GB/s, {report.rates.copy_gb_s:.0f} GB/s"
    yield "products", f"{report.rates.matmul_tflops:.2f} TFLOP/s"
    yield "recordings", f"{report.recordings}, made in {report.recording_seconds:.1f} s"
    yield "memory", report.peak_memory.sentence
    yield "recording a trace", "–" if report.recording is None else f"{report.recording:+.1%}"
    yield "measured", f"{report.created}, in {report.seconds:.0f} s"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"
