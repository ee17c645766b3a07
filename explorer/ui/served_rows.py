"""The same heads on this explorer and on a server: what the Serve page last found, for Compare."""

from __future__ import annotations

from collections.abc import Sequence

from explorer.records.serving import EngineRow
from explorer.serving.recorded import recorded
from explorer.ui import serving_panels


class ServedRows:
    """One row for each engine; until something was measured, those that ship."""

    def __init__(self) -> None:
        self._rows: list[EngineRow] = []

    def take(self, rows: Sequence[EngineRow]) -> None:
        """Keep what was measured, unless nothing was."""
        self._rows = list(rows) or self._rows

    def html(self) -> str:
        """The table, or nothing where none ships."""
        if self._rows:
            return serving_panels.rows(serving_panels.ROWS_TITLE, self._rows)
        record = recorded()
        return serving_panels.rows(serving_panels.ROWS_RECORDED, record.rows) if record else ""
