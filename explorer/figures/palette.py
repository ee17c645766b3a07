"""Colours and shapes of the four verdicts: the same in every figure, told apart without colour.

Okabe–Ito colours; they keep their meaning on a light and on a dark ground.
"""

from __future__ import annotations

from dataclasses import dataclass

ACCEPTED = "#009E73"
REJECTED = "#D55E00"
PRUNED = "#8A8F98"
ROOT = "#0072B2"
NEUTRAL = "rgba(128,134,145,{})"

MONO = "ui-monospace, 'SF Mono', 'Cascadia Mono', 'DejaVu Sans Mono', Consolas, monospace"
SANS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"


@dataclass(frozen=True)
class Look:
    """How nodes of one verdict are drawn."""

    colour: str
    marker: str  # a Plotly symbol
    size: int
    dash: str  # a Plotly line style
    width: float
    sign: str  # the marker as a character, for labels
    meaning: str


LOOKS = {
    "root": Look(ROOT, "square", 11, "solid", 3.0, "■", "root"),
    "accepted": Look(ACCEPTED, "circle", 12, "solid", 3.5, "●", "accepted"),
    "rejected": Look(REJECTED, "circle-open", 11, "dot", 1.8, "○", "rejected"),
    "pruned": Look(PRUNED, "diamond-open", 8, "dash", 1.1, "◇", "never reached"),
    "bonus": Look(ROOT, "square-open", 11, "solid", 1.8, "□", "bonus"),
}
