"""Machine instructions and addresses that numba has no words for."""

from __future__ import annotations

import ctypes

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def int64_fields(names: str) -> list[tuple[str, type]]:
    """Fields of a ctypes structure that hold addresses and sizes."""
    return [(name, ctypes.c_int64) for name in names.split()]


@intrinsic
def claim(_, counter):
    """Add one to the first number of an int64 array, atomically; returns what it was."""

    def generate(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.atomic_rmw("add", array.data, ir.Constant(ir.IntType(64), 1), "monotonic")

    return types.int64(counter), generate


def pointer_to(kind):
    """A function that reads an address as a pointer to `kind`."""

    @intrinsic
    def pointer(_, address):
        def generate(context, builder, signature, arguments):
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        return types.CPointer(kind)(types.int64), generate

    return pointer


floats_at = pointer_to(types.float32)
flags_at = pointer_to(types.boolean)
halves_at = pointer_to(types.uint16)  # of bf16 numbers, which numba does not have
whole_at = pointer_to(types.int64)


@intrinsic
def float_of_bits(_, bits):
    """The float32 that has the bits of an int32."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.int32), generate


@numba.njit(cache=True, error_model="numpy")
def floats(address, size):
    """`size` float32 at an address, as an array."""
    return numba.carray(floats_at(address), size)


@numba.njit(cache=True, error_model="numpy", inline="always")
def _in_order(bits):
    """The bits of a float32 as an int32 that is the larger the larger the float; and back."""
    return np.int32(bits ^ ((bits >> np.int32(31)) & np.int32(0x7FFFFFFF)))


# As whole numbers, for which a processor takes many at a time: a dozen times as fast.
@numba.njit(cache=True, error_model="numpy")
def largest(numbers):
    """The largest of some float32, none of them NaN; −inf of none."""
    bits = numbers.view(np.int32)
    top = _in_order(np.float32(-np.inf).view(np.int32))
    for i in range(bits.size):
        top = max(top, _in_order(bits[i]))
    return float_of_bits(_in_order(top))


@numba.njit(cache=True, error_model="numpy", inline="always")
def exp32(x):
    """exp of a float32 ≤ 0 by Cephes' expf, written out: the same operations at any width."""
    x = max(x, np.float32(-87.0))
    n = np.floor(x * np.float32(1.44269504) + np.float32(0.5))
    r = (x - n * np.float32(0.693359375)) - n * np.float32(-2.12194440e-4)
    p = np.float32(1.9875691500e-4)
    p = p * r + np.float32(1.3981999507e-3)
    p = p * r + np.float32(8.3334519073e-3)
    p = p * r + np.float32(4.1665795894e-2)
    p = p * r + np.float32(1.6666665459e-1)
    p = p * r + np.float32(5.0000001201e-1)
    power = float_of_bits((np.int32(n) + np.int32(127)) << np.int32(23))
    return (p * r * r + r + np.float32(1.0)) * power


@numba.njit(cache=True, error_model="numpy", inline="always")
def silu(x):
    """x · sigmoid(x)."""
    e = exp32(-abs(x))  # ≤ 1, so nothing overflows
    numerator = np.float32(1.0) if x >= np.float32(0.0) else e
    return x * numerator / (np.float32(1.0) + e)
