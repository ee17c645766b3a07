"""System fonts and calm colours; everything else is in assets/ui/*.css."""

from __future__ import annotations

import gradio as gr

from explorer.records.paths import ASSETS

STYLE_SHEETS = [ASSETS / "ui" / f"{name}.css" for name in ("base", "page")]

_SANS = ["system-ui", "-apple-system", "Segoe UI", "Roboto", "DejaVu Sans", "sans-serif"]
_MONO = ["ui-monospace", "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", "Consolas", "monospace"]


def theme() -> gr.themes.Base:
    """A theme that asks no other host for a font."""
    return gr.themes.Base(
        primary_hue=gr.themes.colors.emerald,
        neutral_hue=gr.themes.colors.gray,
        font=_SANS,
        font_mono=_MONO,
        radius_size=gr.themes.sizes.radius_sm,
        spacing_size=gr.themes.sizes.spacing_sm,
    ).set(
        body_background_fill="#fafaf9",
        body_background_fill_dark="#14161a",
        block_background_fill="#ffffff",
        block_background_fill_dark="#1b1e24",
        block_border_color="#e4e4e1",
        block_border_color_dark="#2e323a",
        input_background_fill="#ffffff",
        input_background_fill_dark="#1b1e24",
        block_info_text_color="#5b6270",
        block_info_text_color_dark="#a5acb8",
        block_label_text_color="#1d2127",
        block_label_text_color_dark="#e7e9ed",
        block_title_text_color="#1d2127",
        block_title_text_color_dark="#e7e9ed",
        input_border_color="#d6d8d4",
        input_border_color_dark="#3a404a",
        button_primary_background_fill="#00795a",
        button_primary_background_fill_hover="#00664c",
        button_primary_background_fill_dark="#00795a",
        button_primary_background_fill_hover_dark="#00825f",
        button_primary_text_color="#ffffff",
        button_primary_text_color_dark="#ffffff",
        slider_color="#00795a",
        slider_color_dark="#00a67d",
    )
