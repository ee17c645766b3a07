"""The family: every method that guesses ahead, as published and as measured here."""

from __future__ import annotations

from typing import Any

from explorer.learn.chapter import Chapter, See
from explorer.learn.formats import day
from explorer.learn.kin import AS_OF, CHECKED, ENGINES, KIN, Kin
from explorer.learn.kin_measured import measured, structured
from explorer.learn.recorded_comparison import machine
from explorer.learn.sources import SOURCES

ROWS = (
    ("drafting", "drafting"),
    ("memory", "memory"),
    ("verification", "verification"),
    ("drift", "drift of the distribution guessed from"),
    ("published", "speedup"),
    ("parallel", "tensor-parallel serving"),
    ("training", "training cost"),
)


def numbers() -> dict[str, object]:
    """The status of engines, and when all of it was checked."""
    return {
        "engines": ENGINES,
        "as_of": AS_OF,
        "checked": day(CHECKED),
        "structured": structured(),
    }


def data() -> dict[str, Any]:
    """The members with their measured cells, and the rows of the table."""
    return {
        "rows": ROWS,
        "members": [_member(kin) for kin in KIN],
        "machine": machine(),
        "question": _question(),
    }


def _member(kin: Kin) -> dict[str, Any]:
    """Its picture and line, its sources, and for each row what is published and what measured."""
    sources = [SOURCES[key] for key in kin.cited]
    return {
        "key": kin.key,
        "name": kin.name,
        "line": kin.line,
        "guesses": kin.guesses,
        "cited": [
            {"name": source.name, "title": source.title_of(), "url": source.url}
            for source in sources
        ],
        "published": {row: _published(kin, row) for row, _ in ROWS},
        "measured": measured(kin.method),
    }


def _published(kin: Kin, row: str) -> list[str]:
    said = getattr(kin, row)
    return [said] if isinstance(said, str) else [str(figure) for figure in said]


def _question() -> dict[str, object]:
    """Which needs neither training nor a second model?"""
    offered = [kin for kin in KIN if kin.key in ("draft", "medusa", "ngram", "eagle")]
    free = [kin.training == "none" and kin.guesses[0] in ("base", "text") for kin in offered]
    return {
        "ask": "Which of these needs neither training nor a second model?",
        "options": [kin.name for kin in offered],
        "right": free.index(True),
        "why": "It copies from the text so far. So does lookahead from its own earlier guesses.",
    }


def see() -> See:
    """A run that shows one of them at work."""
    return See("code", 2, "Medusa at work; Compare runs the methods of this product side by side.")


CHAPTER = Chapter("family", "The family", numbers, data, see)
