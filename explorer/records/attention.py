"""Attention weights of one head in one step, small enough for a trace and for a message.

A long prefix is summarised: the head's first slots (where attention sinks are), its heaviest and
its last ones are kept one by one, all others as a sum. The counterpart in the browser is
assets/step_explorer/attention.js.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field, field_validator, model_validator

from explorer.records.errors import ExplorerError
from explorer.records.record import MAX_ROWS, Entries, Record, TokenId, Whole

ONE = 65_535  # the 16-bit number that stands for a weight of 1
MAX_VALUES = 21_000  # weights of one record: 56 KB as base64
MAX_SLOTS = 128
MAX_ATTENTION_HEADS = 4096  # records in one trace
MAX_CHARACTERS = 4 * -(-2 * MAX_VALUES // 3)

Number = Annotated[int, Field(ge=0, lt=4096)]


class AttentionHead(Record):
    """The weights of one head. Steps, layers and heads count from 0, up to `layers` and `heads`.


    slots    positions in the prefix that are kept one by one, ascending; the first is 0
    weights  base64 of little-endian 16-bit numbers, 65535 for 1. For each row of the step, in
             order: the sum over the prefix's other positions; a weight per slot; a weight per row
             of the path from the root to the row itself, both included. All other weights are 0.
    """

    step: Whole
    layer: Number
    head: Number
    layers: Number
    heads: Number
    slots: Entries[Whole] = Field(min_length=1, max_length=MAX_SLOTS)
    weights: str = Field(max_length=MAX_CHARACTERS, pattern=r"^[A-Za-z0-9+/]*={0,2}$")

    @model_validator(mode="after")
    def _in_bounds(self) -> AttentionHead:
        if self.layer >= self.layers or self.head >= self.heads:
            raise ValueError("layer and head must be below `layers` and `heads`")
        if self.slots[0] != 0:
            raise ValueError("the first token must be a slot")
        if any(a >= b for a, b in zip(self.slots, self.slots[1:], strict=False)):
            raise ValueError("slots must be in ascending order")
        return self

    def require_fit(self, context_length: int, depths: Sequence[int]) -> None:
        """Raise ValueError unless the weights are those of a step with such rows."""
        if self.slots[-1] >= context_length:
            raise ValueError(f"attention of step {self.step}: a slot lies outside the prefix")
        if len(self._bytes()) != 2 * value_count(len(self.slots), depths):
            raise ValueError(f"attention of step {self.step}: weights do not fit its rows")

    def rows(self, depths: Sequence[int]) -> list[list[float]]:
        """Per row its weights, ordered as in `weights`, of a step whose rows have these depths."""
        numbers = iter(value for (value,) in struct.iter_unpack("<H", self._bytes()))
        widths = (2 + len(self.slots) + depth for depth in depths)
        return [[next(numbers) / ONE for _ in range(width)] for width in widths]

    def _bytes(self) -> bytes:
        try:
            return base64.b64decode(self.weights, validate=True)
        except binascii.Error as error:
            raise ValueError("weights are not base64") from error


def value_count(slots: int, depths: Sequence[int]) -> int:
    """How many weights a record holds for rows of these depths."""
    return sum(2 + slots + depth for depth in depths)


def packed(rows: Sequence[Sequence[float]]) -> str:
    """Rows of weights, ordered as AttentionHead.weights wants them, as its text."""
    numbers = [min(ONE, max(0, round(value * ONE))) for row in rows for value in row]
    return base64.b64encode(struct.pack(f"<{len(numbers)}H", *numbers)).decode("ascii")


class OtherModelError(ExplorerError):
    """The loaded model is not the one that made the trace, or no model is loaded."""


class AttentionQuestion(Record):
    """What the model needs to compute a step's weights: it computes one layer for all heads.

    prefix: tokens before the step. token_ids, parents: of its rows, parents first, −1 the root's.
    layer, head: None for the model to choose.
    """

    model: str = Field(max_length=500)
    backend: str = Field(max_length=50)
    step: int = Field(ge=0)
    prefix: Entries[TokenId] = Field(min_length=1)
    token_ids: Entries[TokenId] = Field(min_length=1, max_length=MAX_ROWS)
    parents: Entries[int] = Field(min_length=1, max_length=MAX_ROWS)
    layer: Number | None = None
    head: Number | None = None

    @field_validator("parents")
    @classmethod
    def _is_tree(cls, parents: list[int]) -> list[int]:
        if parents[0] != -1 or any(not 0 <= p < i for i, p in enumerate(parents[1:], start=1)):
            raise ValueError("the root must come first, and every parent before its children")
        return parents

    @model_validator(mode="after")
    def _rows_agree(self) -> AttentionQuestion:
        if len(self.parents) != len(self.token_ids):
            raise ValueError("token_ids and parents must have the same length")
        return self

    @property
    def depths(self) -> list[int]:
        """Depth of each row; 0 for the root."""
        depths: list[int] = []
        for parent in self.parents:
            depths.append(0 if parent < 0 else depths[parent] + 1)
        return depths
