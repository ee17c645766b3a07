"""The one palette: of figures, of the page (assets/step_explorer/palette.css) and of its theme.

Okabe–Ito colours; they keep their meaning on a light and on a dark ground. Colours and shapes of
the four verdicts are the same in every figure and can be distinguished without colour.
"""

from __future__ import annotations

from dataclasses import dataclass

# The CSS variables --sx-NAME on a light and on a dark ground; `python tools/page_palette.py`
# writes them down. A colour with -fill is for areas and marks, one without for words.
PAGE = {
    "ink": ("#1d2127", "#e7e9ed"),
    "soft": ("#555c69", "#a9b0bb"),
    "page": ("#fafaf9", "#14161a"),
    "ground": ("#ffffff", "#1b1e24"),
    "sunk": ("#f4f5f3", "#15181d"),
    "line": ("#dfe1de", "#30353e"),
    "edge": ("#d6d8d4", "#3a404a"),  # of what is typed in
    "faint": ("#c9ccd1", "#434954"),
    "later": ("#686e79", "#858c98"),
    "green": ("#00775a", "#3fd0a6"),  # accepted
    "green-fill": ("#009e73", "#14b388"),
    "red": ("#ad4600", "#ff9a5c"),  # rejected
    "red-fill": ("#d55e00", "#ee7420"),
    "blue": ("#0067a6", "#6bbbee"),  # root, bonus
    "blue-fill": ("#0072b2", "#3795d4"),
    "grey": ("#6c727d", "#969ca8"),  # never reached
    "grey-fill": ("#8a8f98", "#7b818d"),
    "d1": ("#7fceb9", "#1c6b55"),  # tokens by their depth
    "d2": ("#3fb596", "#178f6e"),
    "d3": ("#009e73", "#14b388"),
    "d4": ("#006b4e", "#7be3c4"),
    # the same on both grounds
    "sky": ("#56b4e9", "#56b4e9"),
    "pink": ("#cc79a7", "#cc79a7"),
    "orange": ("#e69f00", "#e69f00"),
    "yellow": ("#f0e442", "#f0e442"),
    "mint": ("#7fceb9", "#7fceb9"),
    "jade": ("#3fb596", "#3fb596"),
    "pine": ("#004d39", "#004d39"),
    "on-light": ("#0d1f19", "#0d1f19"),  # words on mint and jade
    "on-fill": ("#ffffff", "#ffffff"),  # words on the darker ones
    "button": ("#00795a", "#00795a"),
    "button-over": ("#00664c", "#00825f"),
    "slider": ("#00795a", "#00a67d"),
}

ACCEPTED, REJECTED, PRUNED, ROOT, PINK = (
    PAGE[name][0] for name in ("green-fill", "red-fill", "grey-fill", "blue-fill", "pink")
)
NEUTRAL = "rgba(128,134,145,{})"

MONO_FONTS = (
    "ui-monospace",
    "SF Mono",
    "Cascadia Mono",
    "DejaVu Sans Mono",
    "Consolas",
    "monospace",
)
SANS_FONTS = ("system-ui", "-apple-system", "Segoe UI", "Roboto", "DejaVu Sans", "sans-serif")


def font_family(fonts: tuple[str, ...], quote: str = "'") -> str:
    """The fonts as a CSS value; names of several words are quoted."""
    return ", ".join(f"{quote}{name}{quote}" if " " in name else name for name in fonts)


MONO, SANS = font_family(MONO_FONTS), font_family(SANS_FONTS)


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
