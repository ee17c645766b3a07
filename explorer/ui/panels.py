"""The small panels around the step explorer, as HTML. All values are escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from explorer.learn.pages import navigation
from explorer.records.text import encodable

INTRO = (
    "A language model writes one token per pass. Here small heads guess several ahead, and one "
    "pass checks them all: the same text in fewer passes."
)
GAME = "learn#beat_the_heads"


def intro() -> str:
    """What this is, in one line that can be dismissed, and a game that needs no model."""
    game = f'<a href="{GAME}">Can you beat the heads?</a>'
    return (
        f'<p class="mx-intro"><span>{escape(INTRO)} {game}</span><button type="button" '
        'aria-label="Dismiss the introduction" title="Do not show this again">×</button></p>'
    )


def header(description: str, notes: Sequence[str], page: str = "Explore") -> str:
    """Name of the app, its pages, the model, and notes about it. `page` is the current one."""
    lines = "".join(f"<li>{escape(note)}</li>" for note in notes)
    more = (
        f'<details class="mx-notes"><summary>about this model</summary><ul>{lines}</ul></details>'
    )
    model = f"<span>{escape(description)}</span>{more if notes else ''}"
    return (
        '<div class="mx-header"><h1>Medusa Explorer</h1>'
        f'{navigation(page)}<div class="mx-model">{model}</div></div>'
    )


def status(kind: str, text: str, fraction: float | None = None) -> str:
    """One line about the state. kind: empty, loading, waiting, running, done, failed."""
    bar = ""
    if kind == "loading":
        width = "" if fraction is None else f' style="width:{max(0.0, min(1.0, fraction)):.0%}"'
        moving = " mx-moving" if fraction is None else ""
        bar = f'<div class="mx-bar{moving}"><i{width}></i></div>'
    return f'<div class="mx-status mx-{kind}" role="status">{escape(encodable(text))}{bar}</div>'
