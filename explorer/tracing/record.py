"""What all trace records are made of."""

from __future__ import annotations

from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field

T = TypeVar("T")
# A hostile file may hold millions of wrong entries, and the first one is enough.
Entries = Annotated[list[T], Field(fail_fast=True)]
TokenId = Annotated[int, Field(ge=0)]


class Record(BaseModel):
    """Base of all trace records: immutable, and strict about unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")
