"""The kernels that are written as LLVM instructions, for numba to call."""

from __future__ import annotations

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from explorer.kernels.attend import FLOATS, HALVES, emit_mix, emit_scores
from explorer.kernels.building import F16, I64, at
from explorer.kernels.dot import Product, TileProduct
from explorer.kernels.isa import instruction_set

ARGUMENTS = types.void(*[types.int64] * 8)  # of the kernels that are called by their address


def _tile_product(bits: int, add: bool):
    """`product(weights, groups, rows, row_bytes, count, out, out_bytes)`, see dot.Product."""

    @intrinsic
    def product(_, weights, groups, rows, row_bytes, count, out, out_bytes):
        def generate(context, builder, signature, arguments):
            TileProduct(instruction_set(), bits, add).emit(builder, Product(*arguments))
            return context.get_dummy_value()

        return types.void(*[types.int64] * 7), generate

    return product


def _attention(emit):
    """A kernel of attention, with the arguments that `emit` takes after the instruction set."""

    @intrinsic
    def kernel(_, a, b, c, d, e, f, g, h):
        def generate(context, builder, signature, arguments):
            emit(builder, instruction_set(), *arguments)
            return context.get_dummy_value()

        return ARGUMENTS, generate

    return kernel


@intrinsic
def put_half(_, address, number):
    """A float32 as fp16 at an address."""

    def generate(context, builder, signature, arguments):
        address, number = arguments
        builder.store(builder.fptrunc(number, F16), at(builder, address, 0, F16))
        return context.get_dummy_value()

    return types.void(types.int64, types.float32), generate


@intrinsic
def put_halves(_, address, numbers):
    """The 16 float32 at the address `numbers` as fp16 at another."""

    def generate(context, builder, signature, arguments):
        address, numbers = arguments
        values = builder.load(at(builder, numbers, 0, FLOATS), align=4)
        builder.store(builder.fptrunc(values, HALVES), at(builder, address, 0, HALVES), align=2)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@intrinsic
def call(_, address, a, b, c, d, e, f, g, h):
    """Call a kernel at its address."""

    def generate(context, builder, signature, arguments):
        address, *rest = arguments
        kind = ir.FunctionType(ir.VoidType(), [I64] * len(rest))
        builder.call(builder.inttoptr(address, kind.as_pointer()), rest)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 9), generate


product_4, product_8 = _tile_product(4, False), _tile_product(8, False)
add_product_4, add_product_8 = _tile_product(4, True), _tile_product(8, True)
_scores, _mix = _attention(emit_scores), _attention(emit_mix)
# Each is a function of its own, called by its address: numba would else optimise it again in every
# function that calls one that calls it, and the first start would take three times as long.


@numba.cfunc(ARGUMENTS, cache=True)
def tile_into(bits, weights, groups, rows, row_bytes, count, out, out_bytes):
    """out[r] = tile · row[r] for `count` rows; see dot.Product."""
    if bits == 4:
        product_4(weights, groups, rows, row_bytes, count, out, out_bytes)
    else:
        product_8(weights, groups, rows, row_bytes, count, out, out_bytes)


@numba.cfunc(ARGUMENTS, cache=True)
def tile_onto(bits, weights, groups, rows, row_bytes, count, out, out_bytes):
    """out[r] += tile · row[r] for `count` rows; see dot.Product."""
    if bits == 4:
        add_product_4(weights, groups, rows, row_bytes, count, out, out_bytes)
    else:
        add_product_8(weights, groups, rows, row_bytes, count, out, out_bytes)


@numba.cfunc(ARGUMENTS, cache=True)
def scores(queries, query_bytes, count, keys, size, slot_blocks, out, out_bytes):
    """See attend.emit_scores."""
    _scores(queries, query_bytes, count, keys, size, slot_blocks, out, out_bytes)


@numba.cfunc(ARGUMENTS, cache=True)
def mix(weights, weight_bytes, count, values, value_bytes, slots, feature_blocks, out):
    """See attend.emit_mix."""
    _mix(weights, weight_bytes, count, values, value_bytes, slots, feature_blocks, out)


# The fields of a call that hold their addresses.
PRODUCTS = {"tile_into": tile_into.address, "tile_onto": tile_onto.address}
ATTENTION = {"score_kernel": scores.address, "mix_kernel": mix.address}
