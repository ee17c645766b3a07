"""What a chapter is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from explorer.learn.text import rendered
from explorer.learn.typeset import TEXTS, Typeset


@dataclass(frozen=True)
class See:
    """A step of a recorded run that shows what a chapter is about. `step` counts from 1."""

    trace: str
    step: int
    what: str

    @property
    def hash(self) -> str:
        """The part of Explore's address that leads there (assets/step_explorer/permalink.js)."""
        return f"#trace={self.trace}&step={self.step}"


def nothing() -> dict[str, object]:
    """No numbers, or no data."""
    return {}


@dataclass(frozen=True)
class Chapter:
    """One screen of Learn.

    `numbers`: values for the text's placeholders. `data`: what the widget gets, as JSON. `see`: a
    recorded step. They are called when the page is made, without a model and without torch.
    """

    key: str
    title: str
    numbers: Callable[[], Mapping[str, object]] = nothing
    data: Callable[[], Mapping[str, object]] = nothing
    see: Callable[[], See] | None = None

    @property
    def has_widget(self) -> bool:
        """Whether something can be played with."""
        return (TEXTS / f"{self.key}.js").exists()

    def html(self) -> str:
        """Its text, rendered."""
        text = (TEXTS / f"{self.key}.md").read_text(encoding="utf-8")
        return rendered(text, self.numbers(), Typeset(self.key))
