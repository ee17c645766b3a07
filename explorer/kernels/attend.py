"""The two products of attention over a cache of fp16 numbers, written as LLVM instructions.

Keys and values lie in the cache so that both are read from first to last (`SLOTS` = 16):

    keys    [key-value heads, slots / 16, head size, 16]
    values  [key-value heads, head size / 16, slots, 16]

`emit_scores` gives query · key, the features added one after the other. `emit_mix` gives
Σ weight · value / Σ weight, the slots added one after the other, from the first to the last.
A slot that a row may not see has weight 0, which leaves every partial sum as it was: so the sum
over a tree's slots *is* the sum over the node's path, to the last bit. All in float32.
"""

from __future__ import annotations

from dataclasses import dataclass

from llvmlite import ir

from explorer.kernels.building import (
    F16,
    F32,
    I64,
    at,
    blocks,
    count_to,
    fma,
    splat,
    variable,
    vector,
)
from explorer.kernels.isa import InstructionSet

SLOTS = 16  # slots of a block of keys, features of a block of values
HALVES, FLOATS = vector(F16, SLOTS), vector(F32, SLOTS)
NOTHING = [0.0] * SLOTS


@dataclass(frozen=True)
class Rows:
    """Rows of float32: the address of the first, and bytes from one to the next."""

    first: ir.Value
    stride: ir.Value

    def __getitem__(self, at: tuple[ir.IRBuilder, ir.Value]) -> ir.Value:
        builder, row = at
        return builder.add(self.first, builder.mul(row, self.stride))


def emit_scores(
    builder: ir.IRBuilder,
    isa: InstructionSet,
    first_query: ir.Value,
    query_bytes: ir.Value,
    count: ir.Value,
    keys: ir.Value,
    size: ir.Value,
    slot_blocks: ir.Value,
    first_out: ir.Value,
    out_bytes: ir.Value,
) -> None:
    """out[q, j] = query[q] · key[j], for the 16 keys of each of the blocks from `keys` on.

    first_query, first_out: addresses of the first rows; query_bytes, out_bytes: to the next ones.
    """
    queries, out = Rows(first_query, query_bytes), Rows(first_out, out_bytes)
    block_bytes = builder.mul(size, I64(2 * SLOTS))
    for first, number in blocks(builder, count, isa.query_blocks):
        rows = [builder.add(first, I64(q)) for q in range(number)]
        places = [queries[builder, row] for row in rows]
        for block, wide in blocks(builder, slot_blocks, isa.beside(number)):
            beside = [builder.add(block, I64(b)) for b in range(wide)]
            starts = [builder.add(keys, builder.mul(b, block_bytes)) for b in beside]
            totals = _totals(builder, number, wide)
            with count_to(builder, size) as feature:
                key = _halves_at(builder, starts, feature)
                for place, of_row in zip(places, totals, strict=True):
                    _add_multiples(builder, _float_at(builder, place, feature), key, of_row)
            for row, of_row in zip(rows, totals, strict=True):
                _put(builder, out[builder, row], beside, [builder.load(t) for t in of_row])


def emit_mix(
    builder: ir.IRBuilder,
    isa: InstructionSet,
    first_weights: ir.Value,
    weight_bytes: ir.Value,
    count: ir.Value,
    first_values: ir.Value,
    value_bytes: ir.Value,
    slots: ir.Value,
    feature_blocks: ir.Value,
    out: ir.Value,
) -> None:
    """out[q] = Σ_j weight[q, j] · value[j] / Σ_j weight[q, j].

    first_weights: the address of the first row, weight_bytes to the next; first_values: of the
    first block of 16 features, value_bytes to the next; out [count, features] of float32, without
    gaps.
    """
    weights, values = Rows(first_weights, weight_bytes), Rows(first_values, value_bytes)
    into = Rows(out, builder.mul(feature_blocks, I64(4 * SLOTS)))
    for first, number in blocks(builder, count, isa.query_blocks):
        rows = [builder.add(first, I64(q)) for q in range(number)]
        places = [weights[builder, row] for row in rows]
        for block, wide in blocks(builder, feature_blocks, isa.beside(number)):
            beside = [builder.add(block, I64(b)) for b in range(wide)]
            starts = [values[builder, b] for b in beside]
            totals, sums = _totals(builder, number, wide), _totals(builder, number, 1, F32, 0.0)
            with count_to(builder, slots) as slot:
                value = _halves_at(builder, starts, slot)
                for place, of_row, (whole,) in zip(places, totals, sums, strict=True):
                    weight = _float_at(builder, place, slot)
                    builder.store(builder.fadd(builder.load(whole), weight), whole)
                    _add_multiples(builder, weight, value, of_row)
            for row, of_row, (whole,) in zip(rows, totals, sums, strict=True):
                divisor = splat(builder, builder.load(whole), SLOTS)
                mixed = [builder.fdiv(builder.load(total), divisor) for total in of_row]
                _put(builder, into[builder, row], beside, mixed)


def _totals(
    builder: ir.IRBuilder,
    number: int,
    wide: int,
    kind: ir.Type = FLOATS,
    start: object = NOTHING,
) -> list[list[ir.Value]]:
    """Sums that stay in registers: `wide` for each of `number` rows."""
    return [[variable(builder, kind, start) for _ in range(wide)] for _ in range(number)]


def _halves_at(builder: ir.IRBuilder, starts: list[ir.Value], index: ir.Value) -> list[ir.Value]:
    """16 fp16 numbers of each block, the `index`-th of its vectors, as float32."""
    step = builder.mul(index, I64(2 * SLOTS))
    places = [at(builder, builder.add(start, step), 0, HALVES) for start in starts]
    return [builder.fpext(builder.load(place, align=2), FLOATS) for place in places]


def _float_at(builder: ir.IRBuilder, row: ir.Value, index: ir.Value) -> ir.Value:
    return builder.load(at(builder, builder.add(row, builder.mul(index, I64(4))), 0, F32), align=4)


def _add_multiples(
    builder: ir.IRBuilder, factor: ir.Value, vectors: list[ir.Value], totals: list[ir.Value]
) -> None:
    """total += factor · vector, for each pair."""
    spread = splat(builder, factor, SLOTS)
    for numbers, total in zip(vectors, totals, strict=True):
        builder.store(fma(builder, spread, numbers, builder.load(total)), total)


def _put(
    builder: ir.IRBuilder, row: ir.Value, blocks_of_row: list[ir.Value], numbers: list[ir.Value]
) -> None:
    """Store 16 numbers into each of these blocks of a row."""
    for block, vector_of_block in zip(blocks_of_row, numbers, strict=True):
        place = builder.add(row, builder.mul(block, I64(4 * SLOTS)))
        builder.store(vector_of_block, at(builder, place, 0, FLOATS), align=4)
