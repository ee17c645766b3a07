"""The chapters, in their order."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec

from explorer.learn.chapter import Chapter
from explorer.learn.outline import BESIDE, TOUR


def _of(keys: Iterable[str]) -> list[Chapter]:
    names = [f"explorer.learn.{key}" for key in keys]
    return [import_module(name).CHAPTER for name in names if find_spec(name)]


def tour() -> list[Chapter]:
    """The numbered chapters."""
    return _of(TOUR)


def chapters() -> list[Chapter]:
    """The numbered chapters, and what stands beside the tour."""
    return tour() + _of(BESIDE)


def chapter_of(key: str) -> Chapter | None:
    """The chapter with this key; None: there is none."""
    return next((chapter for chapter in chapters() if chapter.key == key), None)
