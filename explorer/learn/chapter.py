"""What a chapter is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from explorer.learn.text import rendered
from explorer.learn.typeset import TEXTS, Typeset
from explorer.records.schema import Trace


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


@dataclass(frozen=True)
class Shown:
    """What a chapter shows of a visitor's own run: what differs in its data, and the step, from 1,
    that shows what the chapter is about."""

    data: Mapping[str, object]
    step: int


@dataclass(frozen=True)
class Own:
    """How a chapter looks at a visitor's own run.

    `settings`: of a run that shows what it is about, by their names in DecodeSettings. `shown`
    raises ExplorerError, one sentence, where a run shows nothing of it.
    """

    settings: Mapping[str, object]
    shown: Callable[[Trace], Shown]


def nothing() -> dict[str, object]:
    """No numbers, or no data."""
    return {}


@dataclass(frozen=True)
class Chapter:
    """One screen of Learn.

    `numbers`: values for the text's placeholders. `data`: what the widget gets, as JSON. `see`: a
    recorded step. They are called when the page is made, without a model and without torch. `own`:
    how the same is shown of another run.
    """

    key: str
    title: str
    numbers: Callable[[], Mapping[str, object]] = nothing
    data: Callable[[], Mapping[str, object]] = nothing
    see: Callable[[], See] | None = None
    own: Own | None = None

    @property
    def has_widget(self) -> bool:
        """Whether something can be played with."""
        return (TEXTS / f"{self.key}.js").exists()

    def html(self) -> str:
        """Its text, rendered."""
        text = (TEXTS / f"{self.key}.md").read_text(encoding="utf-8")
        return rendered(text, self.numbers(), Typeset(self.key))
