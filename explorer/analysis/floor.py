"""The floor of a step: what it must read and multiply, at the speeds that this machine reached.

A one-row pass reads every weight once, so on most machines it cannot be faster than that
reading. The floor assumes that every byte comes from memory in every step. Where the
processor's last-level cache holds a part of the weights from one step to the next, a step can get
below it; the smaller the model, the larger that part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pydantic import BaseModel as Schema
from pydantic import ConfigDict

from explorer.analysis.formulas import multiply_milliseconds, read_milliseconds
from explorer.records.floor import StepFloor

ASSUMES = (
    "The floor assumes that every byte comes from memory in every step; bytes that stay in the "
    "processor's last-level cache from one step to the next arrive faster."
)


@dataclass(frozen=True)
class StepReads:
    """The bytes that a step has to read: weights of the base model and of the heads, and keys
    and values of each token in the KV cache. And the floating-point operations of one row of its
    verify pass, LM head included; those of attention over the cache and of the heads are few
    besides them and not counted, which keeps the floor a floor."""

    weights: int
    heads: int
    cache_per_token: int
    row_operations: int = 0

    def bytes_at(self, context_length: int) -> int:
        """The sum at a context of this many tokens."""
        return self.weights + self.heads + self.cache_per_token * context_length

    def floor_at(
        self, context_length: int, bandwidth: float, rows: int = 1, rate: float | None = None
    ) -> StepFloor:
        """The floor of a step of `rows` rows, where memory is read with `bandwidth` GB/s and
        matrices are multiplied with `rate` TFLOP/s, if that is known."""
        read = self.bytes_at(context_length)
        memory, arithmetic = read_milliseconds(read, bandwidth), None
        if rate is not None:
            arithmetic = multiply_milliseconds(rows * self.row_operations, rate)
        least = max(memory, arithmetic or 0.0)
        return StepFloor(bytes=read, milliseconds=least, arithmetic_ms=arithmetic)


class MethodFloor(Schema):
    """The floor of a method's steps, and the mean time that they took."""

    model_config = ConfigDict(frozen=True)

    bytes: int
    floor_ms: float
    step_ms: float | None
    step_over_floor: float | None


class Floor(Schema):
    """Plain decoding's floor at `context_length` tokens, and those of other methods.

    `read_bandwidth_gb_s` was measured (measuring/bandwidth.py). `plain_step_ms` is the mean over
    all plain steps of the run, whose mean context is `context_length`.
    """

    model_config = ConfigDict(frozen=True)

    context_length: int
    bytes: int
    read_bandwidth_gb_s: float
    floor_ms: float
    plain_step_ms: float | None
    step_over_floor: float | None
    methods: dict[str, MethodFloor]
    sentence: str


def floor_report(
    plain: StepReads,
    reads: Mapping[str, StepReads],
    bandwidth: float,
    context_length: int,
    step_ms: Mapping[str, float | None],
) -> Floor:
    """Floors at `context_length` tokens of plain and of the methods in `reads`; GB/s.

    `step_ms` are the measured steps by method, plain's under "plain".
    """
    floors = {
        method: _method_floor(read.floor_at(context_length, bandwidth), step_ms.get(method))
        for method, read in {"plain": plain, **reads}.items()
    }
    own = floors.pop("plain")
    return Floor(
        context_length=context_length,
        bytes=own.bytes,
        read_bandwidth_gb_s=bandwidth,
        floor_ms=own.floor_ms,
        plain_step_ms=own.step_ms,
        step_over_floor=own.step_over_floor,
        methods=floors,
        sentence=_sentence(own, bandwidth, context_length),
    )


def _sentence(plain: MethodFloor, bandwidth: float, context_length: int) -> str:
    took = ""
    if plain.step_over_floor is not None:
        took = f" It took {plain.step_ms:.1f} ms, {plain.step_over_floor:.2f} times that."
    return (
        f"At {context_length} tokens of context a plain step reads {plain.bytes / 1e6:.1f} MB, and "
        f"memory was read with {bandwidth:.1f} GB/s here: its floor is {plain.floor_ms:.2f} ms."
        f"{took} {ASSUMES}"
    )


def _method_floor(floor: StepFloor, step_ms: float | None) -> MethodFloor:
    return MethodFloor(
        bytes=floor.bytes,
        floor_ms=floor.milliseconds,
        step_ms=step_ms,
        step_over_floor=None if step_ms is None else step_ms / floor.milliseconds,
    )


def mean_context(lanes: Iterable[tuple[int, int]]) -> int:
    """Tokens in the KV cache, averaged over all plain steps of some lanes.

    A lane is (prompt tokens, new tokens): its passes see the prompt and 0, 1, 2, … new tokens.
    """
    steps = total = 0
    for prompt, new in lanes:
        steps += new
        total += new * prompt + new * (new - 1) // 2
    return round(total / steps) if steps else 0
