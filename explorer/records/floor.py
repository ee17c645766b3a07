"""The shortest time that a step can take, as a record."""

from __future__ import annotations

from pydantic import Field

from explorer.records.record import Record


class StepFloor(Record):
    """What a step had to read, and how long that takes at this machine's measured bandwidth."""

    bytes: int = Field(ge=0, description="weights of model and heads, keys and values")
    milliseconds: float = Field(ge=0, allow_inf_nan=False)
