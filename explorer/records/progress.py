"""How far something that takes long is."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, float | None], None]
"""Called with what is being done and how much of it is done: 0…1, or None where unknown."""


def quiet(text: str, fraction: float | None) -> None:
    """A Progress that says nothing."""
