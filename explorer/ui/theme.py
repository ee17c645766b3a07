"""System fonts and the palette's colours; everything else is in assets/ui/*.css."""

from __future__ import annotations

import gradio as gr

from explorer.figures.palette import MONO_FONTS, PAGE, SANS_FONTS
from explorer.records.paths import ASSETS

STYLE_SHEETS = [
    ASSETS / "step_explorer" / "palette.css",
    ASSETS / "ui" / "base.css",
    ASSETS / "ui" / "page.css",
    ASSETS / "serving" / "serving.css",
    ASSETS / "tree_lab" / "tree_lab.css",
]
# Gradio's name of a colour, and the palette's.
COLOURS = {
    "body_background_fill": "page",
    "block_background_fill": "ground",
    "block_border_color": "line",
    "input_background_fill": "ground",
    "input_border_color": "edge",
    "block_info_text_color": "soft",
    "block_label_text_color": "ink",
    "block_title_text_color": "ink",
    "button_primary_background_fill": "button",
    "button_primary_background_fill_hover": "button-over",
    "button_primary_text_color": "on-fill",
    "slider_color": "slider",
}


def theme() -> gr.themes.Base:
    """A theme that asks no other host for a font."""
    light = {name: PAGE[colour][0] for name, colour in COLOURS.items()}
    dark = {f"{name}_dark": PAGE[colour][1] for name, colour in COLOURS.items()}
    return gr.themes.Base(
        primary_hue=gr.themes.colors.emerald,
        neutral_hue=gr.themes.colors.gray,
        font=list(SANS_FONTS),
        font_mono=list(MONO_FONTS),
        radius_size=gr.themes.sizes.radius_sm,
        spacing_size=gr.themes.sizes.spacing_sm,
    ).set(**light, **dark)
