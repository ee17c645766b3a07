"""The shortest time that a step can take, as a record."""

from __future__ import annotations

from pydantic import Field

from explorer.records.record import Milliseconds, Record, Whole


class StepFloor(Record):
    """What a step had to read and to multiply, and how long that takes at measured rates.

    `milliseconds` is the longer of the two. Where no rate of multiplying was measured, as for
    integer products, `arithmetic_ms` is None and the floor is that of memory alone.
    """

    bytes: Whole = Field(description="weights of model and heads, keys and values")
    milliseconds: Milliseconds
    arithmetic_ms: Milliseconds | None = None
