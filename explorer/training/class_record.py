"""What a page needs of a class (explorer/training/classroom.py): frames with words for tokens."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from explorer.models.base import LanguageModel
from explorer.models.chat import TokenTexts
from explorer.training.classroom import Classroom


def record_of(
    model: LanguageModel, classroom: Classroom, frames: Iterable[dict[str, Any]]
) -> dict[str, Any]:
    """The class as JSON: its text, size and machine, the fixed step, and its frames."""
    lesson = classroom.lesson
    return {
        "model": model.name,
        "backend": model.backend,
        "measured": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "train_tokens": len(classroom.train_rows),
        "held_tokens": len(classroom.held_rows),
        "vocabulary": classroom.heads.config.output_size,
        "batch": lesson.batch,
        "seconds": lesson.seconds,
        "every": lesson.every,
        "lr": lesson.lr,
        "text": "".join(words_of(model, classroom.before())),
        "truth": labels(model, classroom.truth()),
        "frames": [shown(model, classroom, frame) for frame in frames],
    }


def shown(model: LanguageModel, classroom: Classroom, frame: dict[str, Any]) -> dict[str, Any]:
    """A frame whose guesses are [label, probability, right]."""
    _, *wanted = classroom.truth()
    guesses = [
        [[*labels(model, [token]), prob, token == right] for token, prob in head]
        for head, right in zip(frame["guesses"], wanted, strict=True)
    ]
    return {**frame, "guesses": guesses}


def words_of(model: LanguageModel, tokens: list[int]) -> list[str]:
    """Tokens as text; bytes that are no text as their marks."""
    texts = TokenTexts(model.tokenizer)
    pieces = [texts[token] for token in tokens]
    return [piece.label if piece.text is None else piece.text for piece in pieces]


def labels(model: LanguageModel, tokens: list[int]) -> list[str]:
    """Tokens as a page writes them."""
    texts = TokenTexts(model.tokenizer)
    return [texts[token].label for token in tokens]


@dataclass(frozen=True)
class Begun:
    """A class that began: its record so far, and how to keep its heads in a new folder."""

    record: dict[str, Any]
    keep: Callable[[Path], object]
