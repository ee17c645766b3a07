"""The one exception that users see: a sentence that says what went wrong and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError


class ExplorerError(Exception):
    """Bad input or a missing piece. `str(error)` is one clear sentence with the remedy."""

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: the sentence, without a traceback."""
        return [f"ExplorerError: {self}"]


def first_fault(error: ValidationError) -> str:
    """A sentence on the first value that does not fit: its name, why, and what was given."""
    first = error.errors()[0]
    if not first["loc"] and "ctx" in first:  # a check of the whole record, which names the value
        return str(first["ctx"]["error"])
    name = ".".join(map(str, first["loc"]))
    return f"{name}: {first['msg']}; you gave {first['input']!r:.60}."


def first_mistake(error: ValidationError) -> str:
    """Where a file first goes wrong, and why, in a few words for brackets."""
    first = error.errors(include_input=False, include_url=False)[0]
    where, why = ".".join(map(str, first["loc"])), first["msg"].removeprefix("Value error, ")
    return f"{where:.80}: {why:.200}" if where else f"{why:.200}"
