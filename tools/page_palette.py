"""Writes assets/step_explorer/palette.css, the page's colours: `python tools/page_palette.py`."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from explorer.figures.palette import MONO_FONTS, PAGE, SANS_FONTS, font_family  # noqa: E402

PATH = ROOT / "assets" / "step_explorer" / "palette.css"
HEADING = """\
/* The page's colours and fonts. Written by tools/page_palette.py from explorer/figures/palette.py:
   change that, then run it again. */
"""
LIGHT, DARK = 0, 1
SELECTORS = {LIGHT: ":root,\n.gradio-container", DARK: ".dark,\n.dark .gradio-container"}
# For rgba(): which colour, and how much of it the focus has.
TINTS = {LIGHT: ("green-fill", "blue-fill", 0.13), DARK: ("green", "blue", 0.2)}


def declarations() -> str:
    """The whole file."""
    fonts = [
        f"  --sx-mono: {font_family(MONO_FONTS, chr(34))};",
        f"  --sx-sans: {font_family(SANS_FONTS, chr(34))};",
    ]
    return "\n".join([HEADING, _rule(LIGHT, *fonts), _rule(DARK)])


def _rule(ground: int, *more: str) -> str:
    tint, focus, share = TINTS[ground]
    lines = [f"  --sx-{name}: {both[ground]};" for name, both in PAGE.items()]
    lines += [
        f"  --sx-tint: {_numbers(PAGE[tint][ground])};",
        f"  --sx-focus: rgba({_numbers(PAGE[focus][ground])}, {share});",
        *more,
    ]
    return "\n".join([f"{SELECTORS[ground]} {{", *lines, "}\n"])


def _numbers(colour: str) -> str:
    return ", ".join(str(int(colour[at : at + 2], 16)) for at in (1, 3, 5))


if __name__ == "__main__":
    PATH.write_text(declarations(), encoding="utf-8")
    print(PATH.relative_to(ROOT))
