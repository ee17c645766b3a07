"""The base of all trace records."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel as Schema
from pydantic import ConfigDict, Field, ValidatorFunctionWrapHandler, WrapValidator

K = TypeVar("K")
T = TypeVar("T")


def _one_by_one(table: Any, check: ValidatorFunctionWrapHandler) -> Any:
    if not isinstance(table, dict):
        return check(table)
    checked = {}
    for key, entry in table.items():
        checked |= check({key: entry})
    return checked


MAX_ROWS = 513  # in a pass: 512 nodes and the root

# A hostile file may hold millions of wrong entries, and the first one is enough.
Entries = Annotated[list[T], Field(fail_fast=True)]
Table = Annotated[dict[K, T], WrapValidator(_one_by_one)]
# assets/step_explorer/validate.js has the same bounds: whole numbers that a browser reads exactly,
# and times whose sums, squares and ratios stay numbers.
MAX_MILLISECONDS = 1e12  # 31 years
Whole = Annotated[int, Field(ge=0, lt=2**53)]
TokenId = Whole
Milliseconds = Annotated[float, Field(ge=0.0, le=MAX_MILLISECONDS)]


def without(given: Any, *computed: str) -> Any:
    """What a record is read from, without the fields that follow from others: a file's are not
    believed."""
    if isinstance(given, dict) and not given.keys().isdisjoint(computed):
        return {key: value for key, value in given.items() if key not in computed}
    return given


class Record(Schema):
    """Base of all trace records: immutable, and strict about unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")
