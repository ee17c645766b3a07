"""The shortest time that a step can take, as a record."""

from __future__ import annotations

from pydantic import Field

from explorer.records.record import Record


class StepFloor(Record):
    """What a step had to read and to multiply, and how long that takes at measured rates.

    `milliseconds` is the longer of the two. Where no rate of multiplying was measured, as for
    integer products, `arithmetic_ms` is None and the floor is that of memory alone.
    """

    bytes: int = Field(ge=0, description="weights of model and heads, keys and values")
    milliseconds: float = Field(ge=0, allow_inf_nan=False)
    arithmetic_ms: float | None = Field(default=None, ge=0, allow_inf_nan=False)
