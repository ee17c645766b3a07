"""Training curves as an SVG picture: the loss by update, and the accuracy of each head.

Heads differ in their line's dash and have a label at its end, not only a colour. All text
is set as text, and the picture needs nothing from elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from explorer.figures.palette import ACCEPTED, NEUTRAL, PINK, REJECTED, ROOT, SANS
from explorer.records.numbers import count

WIDTH, PANEL, GAP, LEFT, RIGHT, TOP = 760, 200, 64, 56, 76, 34
COLOURS = (ROOT, ACCEPTED, REJECTED, PINK)
DASHES = ("", "6 3", "2 3", "8 3 2 3")
STEPS = (1, 2, 2.5, 5, 10)  # of an axis, times a power of ten
TICKS = 5
MOST, LEAST = 1e100, 1e-100  # largest value that is drawn, below the limit of floats
FLAT = 1e-6  # relative; a smaller variation is drawn as a flat line

Point = tuple[float, float]
Curve = tuple[str, list[Point]]


def training_curves(log: Sequence[dict[str, Any]], title: str = "") -> str:
    """The SVG of a training log (training/log.py): its losses, and below, held-out accuracy.

    A log without held-out figures gives the losses alone, one without losses an empty panel.
    """
    losses = [_curve("loss", ((x["update"], x["loss"]) for x in log if not _epoch_line(x)))]
    panels = [("training loss (mean since the point before)", losses)]
    epochs = [x for x in log if _epoch_line(x) and (x.get("accuracy") or {}).get("top1")]
    if epochs:
        heads = range(max(len(x["accuracy"]["top1"]) for x in epochs))
        panels.append(
            (
                "held-out top-1 accuracy after each epoch",
                [_curve(f"head {k + 1}", _accuracies(epochs, k)) for k in heads],
            )
        )
    last = max((x["update"] for x in log), default=1)
    drawn = [
        _panel(name, curves, last, TOP + i * (PANEL + GAP)) for i, (name, curves) in
        enumerate(panels)
    ]  # fmt: skip
    height = TOP + len(panels) * (PANEL + GAP)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'font-family="{escape(SANS)}" font-size="12" fill="{NEUTRAL.format(1)}">'
        f"<title>{escape(title or 'Training curves')}</title>{''.join(drawn)}</svg>\n"
    )


def _epoch_line(line: dict[str, Any]) -> bool:
    return bool(line.get("epoch_done"))


def _curve(name: str, points: Iterable[Point]) -> Curve:
    return name, [(x, y) for x, y in points if abs(y) < MOST]  # NaN is not


def _accuracies(epochs: Iterable[dict[str, Any]], head: int) -> list[Point]:
    tops = ((line["update"], line["accuracy"]["top1"]) for line in epochs)
    return [(update, top1[head]) for update, top1 in tops if head < len(top1)]


def _panel(name: str, curves: Sequence[Curve], last: float, top: float) -> str:
    """Axes, and the curves within them, each named at its end."""
    values = [y for _, points in curves for _, y in points] or [0.0, 1.0]
    ticks = _ticks(min(values), max(values))
    low, high = ticks[0], ticks[-1]

    def at(point: Point) -> Point:
        x = LEFT + point[0] / max(1, last) * (WIDTH - LEFT - RIGHT)
        return x, top + PANEL * (1 - (point[1] - low) / (high - low))

    parts = [_text(LEFT, top - 10, name, "start")]
    for tick in ticks:
        _, y = at((0, tick))
        parts.append(_line(LEFT, y, WIDTH - RIGHT, y))
        parts.append(_text(LEFT - 8, y + 4, f"{tick:g}", "end"))
    for tick in _ticks(0, last)[:-1]:
        x, _ = at((tick, low))
        parts.append(_text(x, top + PANEL + 18, count(round(tick)), "middle"))
    parts.append(_text(WIDTH - RIGHT, top + PANEL + 18, "updates", "end"))
    for index, (label, points) in enumerate(curves):
        if points:
            parts.append(_drawn(label, [at(point) for point in points], index))
    return "".join(parts)


def _ticks(low: float, high: float) -> list[float]:
    """Round values around low and high, evenly spaced."""
    size = max(abs(low), abs(high))
    span = high - low
    if span <= FLAT * size or span < LEAST:
        span = size if size >= LEAST else 1.0
    power = 10 ** math.floor(math.log10(span / TICKS))
    step = next(s * power for s in STEPS if s * power * TICKS >= span)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [float(f"{i * step:.10g}") for i in range(first, max(last, first + 1) + 1)]


def _drawn(label: str, points: Sequence[Point], index: int) -> str:
    colour, dash = COLOURS[index % len(COLOURS)], DASHES[index % len(DASHES)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    x, y = points[-1]
    dots = "".join(
        f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.5" fill="{colour}"/>' for a, b in points
    )
    return (
        f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.8" '
        f'stroke-dasharray="{dash}"/>{dots if len(points) <= 40 else ""}'
        f"{_text(x + 7, y + 4, label, 'start', colour)}"
    )


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
        f'stroke="{NEUTRAL.format(0.35)}"/>'
    )


def _text(x: float, y: float, text: str, anchor: str, colour: str = NEUTRAL.format(1)) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}">'
        f"{escape(text)}</text>"
    )
