"""Machine instructions and addresses that numba has no words for."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@intrinsic
def claim(_, counter):
    """Add one to the first number of an int64 array, atomically; returns what it was."""

    def generate(context, builder, signature, arguments):
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.atomic_rmw("add", array.data, ir.Constant(ir.IntType(64), 1), "monotonic")

    return types.int64(counter), generate


def _pointer(_, address, kind):
    def generate(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.CPointer(kind)(types.int64), generate


@intrinsic
def floats_at(context, address):
    """An address as a pointer to float32."""
    return _pointer(context, address, types.float32)


@intrinsic
def flags_at(context, address):
    """An address as a pointer to bool."""
    return _pointer(context, address, types.boolean)
