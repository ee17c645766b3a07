"""The most memory that was in use, as a record."""

from __future__ import annotations

from pydantic import Field

from explorer.records.record import Record


class PeakMemory(Record):
    """`bytes` at the most, and `of` what they are."""

    bytes: int = Field(ge=0)
    of: str

    @property
    def sentence(self) -> str:
        """Both in words."""
        return f"Peak memory: {self.bytes / 1e9:.2f} GB, {self.of}."
