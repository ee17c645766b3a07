"""The two products of attention over a cache of fp16 numbers, written as LLVM instructions.

Keys and values lie in the cache so that both are read from first to last (`SLOTS` = 16):

    keys    [key-value heads, slots / 16, head size, 16]
    values  [key-value heads, head size / 16, slots, 16]

`Scores` gives query · key for 16 slots at a time, the features added one after the other. `Mix`
gives Σ weight · value / Σ weight, the slots added one after the other, from the first to the last.
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

SLOTS = 16  # slots of a block of keys, features of a block of values
HALVES, FLOATS = vector(F16, SLOTS), vector(F32, SLOTS)
NOTHING = [0.0] * SLOTS


@dataclass(frozen=True)
class Rows:
    """`count` rows of float32: the address of the first, and bytes from one to the next."""

    first: ir.Value
    stride: ir.Value

    def __getitem__(self, at: tuple[ir.IRBuilder, ir.Value]) -> ir.Value:
        builder, row = at
        return builder.add(self.first, builder.mul(row, self.stride))


def emit_scores(
    builder: ir.IRBuilder,
    queries: Rows,
    count: ir.Value,
    keys: ir.Value,
    size: ir.Value,
    out: Rows,
    together: tuple[int, ...],
) -> None:
    """out[q, 0…15] = query[q] · each of the 16 keys in the block at `keys`.

    together: how many queries may be computed at once (InstructionSet.query_blocks), as below.
    """
    for first, number in blocks(builder, count, together):
        rows = [builder.add(first, I64(q)) for q in range(number)]
        totals = [variable(builder, FLOATS, NOTHING) for _ in rows]
        places = [queries[builder, row] for row in rows]
        with count_to(builder, size) as feature:
            block = builder.add(keys, builder.mul(feature, I64(2 * SLOTS)))
            key = builder.fpext(builder.load(at(builder, block, 0, HALVES), align=2), FLOATS)
            step = builder.mul(feature, I64(4))
            for place, total in zip(places, totals, strict=True):
                number_at = at(builder, builder.add(place, step), 0, F32)
                query = splat(builder, builder.load(number_at, align=4), SLOTS)
                builder.store(fma(builder, query, key, builder.load(total)), total)
        for row, total in zip(rows, totals, strict=True):
            builder.store(builder.load(total), at(builder, out[builder, row], 0, FLOATS), align=4)


def emit_mix(
    builder: ir.IRBuilder,
    weights: Rows,
    count: ir.Value,
    values: ir.Value,
    slots: ir.Value,
    out: Rows,
    together: tuple[int, ...],
) -> None:
    """out[q, 0…15] = Σ_j weight[q, j] · value[j] / Σ_j weight[q, j], for a block of 16 features."""
    for first, number in blocks(builder, count, together):
        rows = [builder.add(first, I64(q)) for q in range(number)]
        totals = [variable(builder, FLOATS, NOTHING) for _ in rows]
        sums = [variable(builder, F32, 0.0) for _ in rows]
        places = [weights[builder, row] for row in rows]
        with count_to(builder, slots) as slot:
            block = builder.add(values, builder.mul(slot, I64(2 * SLOTS)))
            value = builder.fpext(builder.load(at(builder, block, 0, HALVES), align=2), FLOATS)
            step = builder.mul(slot, I64(4))
            for place, total, whole in zip(places, totals, sums, strict=True):
                weight = builder.load(at(builder, builder.add(place, step), 0, F32), align=4)
                builder.store(builder.fadd(builder.load(whole), weight), whole)
                spread = splat(builder, weight, SLOTS)
                builder.store(fma(builder, spread, value, builder.load(total)), total)
        for row, total, whole in zip(rows, totals, sums, strict=True):
            mixed = builder.fdiv(builder.load(total), splat(builder, builder.load(whole), SLOTS))
            builder.store(mixed, at(builder, out[builder, row], 0, FLOATS), align=4)
