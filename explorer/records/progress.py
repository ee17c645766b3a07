"""Progress of long work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Progress = Callable[[str, float | None], None]
"""Called with what is being done, and the share of it that is done: 0…1, None if unknown."""

TrainingProgress = Callable[[dict[str, Any]], None]
"""Called with what a training run reports: its phase, and the figures that belong to it."""


def quiet(text: str, fraction: float | None) -> None:
    """A Progress that reports nothing."""
