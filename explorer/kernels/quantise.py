"""Rows of activations as 8-bit codes, a scale for every 32 of them (ggml's Q8_1, in float32).

A row of K numbers becomes K / 32 records of dot.RECORD bytes: 32 int8 codes, the scale (largest
magnitude / 127) and the offset (scale · sum of the codes).
"""

from __future__ import annotations

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from explorer.kernels.building import F32, I8, I32, at, call_intrinsic, splat, vector
from explorer.kernels.dot import GROUP, OFFSET, RECORD, SCALE


def emit_group(builder: ir.IRBuilder, numbers: ir.Value, record: ir.Value) -> None:
    """32 float32 at the address `numbers` into one record at `record`."""
    floats, ints = vector(F32, GROUP), vector(I32, GROUP)
    x = builder.load(at(builder, numbers, 0, floats), align=4)
    magnitudes = call_intrinsic(builder, f"llvm.fabs.v{GROUP}f32", floats, x)
    top = call_intrinsic(builder, f"llvm.vector.reduce.fmax.v{GROUP}f32", F32, magnitudes)
    top.fastmath.add("nnan")
    zero, most = ir.Constant(F32, 0.0), ir.Constant(F32, 127.0)
    inverse = builder.select(builder.fcmp_ordered(">", top, zero), builder.fdiv(most, top), zero)
    scaled = builder.fmul(x, splat(builder, inverse, GROUP))
    nearest = call_intrinsic(builder, f"llvm.rint.v{GROUP}f32", floats, scaled)
    codes = builder.fptosi(nearest, ints)
    total = call_intrinsic(builder, f"llvm.vector.reduce.add.v{GROUP}i32", I32, codes)
    small = vector(I8, GROUP)
    _put(builder, builder.trunc(codes, small), record, 0)
    scale = builder.fdiv(top, most)
    _put(builder, scale, record, SCALE)
    _put(builder, builder.fmul(scale, builder.sitofp(total, F32)), record, OFFSET)


def _put(builder: ir.IRBuilder, value: ir.Value, record: ir.Value, after: int) -> None:
    builder.store(value, at(builder, record, after, value.type), align=1)


@intrinsic
def quantise_group(_, numbers, record):
    """`emit_group` for numba: both arguments are addresses."""

    def generate(context, builder, signature, arguments):
        emit_group(builder, *arguments)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@numba.njit(cache=True, error_model="numpy")
def quantise_row(numbers, size, records):
    """The row of `size` float32 at an address into size / 32 records at another."""
    for g in range(size // GROUP):
        quantise_group(numbers + 4 * GROUP * g, records + RECORD * g)
