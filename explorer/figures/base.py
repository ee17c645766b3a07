"""Shared by all figures: a white background, system fonts, and text that stays text."""

from __future__ import annotations

import unicodedata
from typing import Any

from explorer.figures.palette import NEUTRAL, SANS

HOVER = {"bgcolor": "#20242c", "bordercolor": "#20242c", "font": {"color": "#ffffff", "size": 12}}
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;"})


def plotly_text(text: str) -> str:
    """Text for a label: Plotly reads a little HTML (and TeX between $ signs) in every string."""
    return text.translate(_ENTITIES)


def text_columns(text: str) -> int:
    """Width of a text in columns of a monospaced font: wide characters take two."""
    return sum(1 + (unicodedata.east_asian_width(char) in "WF") for char in text)


def layout(height: int, **more: Any) -> dict:
    """A layout without decoration, on white: legible in a dark notebook, too, and when saved."""
    return {
        "template": "none",
        "height": height,
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "paper_bgcolor": "#ffffff",
        "plot_bgcolor": "#ffffff",
        "font": {"family": SANS, "size": 12, "color": "#4b5563"},
        "hoverlabel": HOVER,
        "showlegend": False,
        "dragmode": False,
        **more,
    }


def axis(title: str = "", **more: Any) -> dict:
    """A quiet axis: a faint grid, no zero line, nothing to drag."""
    return {
        "title": {"text": title, "font": {"size": 12}, "standoff": 6},
        "gridcolor": NEUTRAL.format(0.18),
        "zeroline": False,
        "showline": False,
        "ticks": "",
        "tickfont": {"size": 11},
        "fixedrange": True,
        "automargin": False,  # it lays a figure out several times over
        **more,
    }


def legend(y: float = 1.0) -> dict:
    """A horizontal legend above the figure; nothing happens on a click."""
    return {
        "orientation": "h",
        "x": 0,
        "y": y,
        "yanchor": "bottom",
        "font": {"size": 12},
        "itemclick": False,
        "itemdoubleclick": False,
        "bgcolor": "rgba(0,0,0,0)",
    }


def explorable(height: int, title: str, **more: object) -> dict:
    """A layout for charts of a page: titled, to zoom into and to save."""
    return layout(
        height,
        title={
            "text": title, "x": 0.01, "xanchor": "left", "y": 0.97, "yanchor": "top",
            "font": {"size": 14},
        },
        **{"margin": {"l": 56, "r": 16, "t": 40, "b": 44}, "dragmode": "zoom", **more},
    )  # fmt: skip


def legend_below() -> dict:
    """The part of a layout that puts a legend under the axis, where it cannot cover the title,
    however many lines it takes."""
    return {
        "showlegend": True,
        "margin": {"l": 56, "r": 16, "t": 40, "b": 110},
        "legend": legend() | {"y": -0.28, "yanchor": "top"},
    }
