"""Words for writing LLVM instructions: what the kernels in this folder are built from.

Addresses are i64 throughout. Vectors of any length may be written: LLVM splits them into what the
machine has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from llvmlite import ir

I8, I16, I32, I64 = (ir.IntType(bits) for bits in (8, 16, 32, 64))
F16, F32 = ir.HalfType(), ir.FloatType()


def vector(kind: ir.Type, count: int) -> ir.VectorType:
    """The type of `count` numbers side by side."""
    return ir.VectorType(kind, count)


def call_intrinsic(
    builder: ir.IRBuilder, name: str, result: ir.Type, *arguments: ir.Value
) -> ir.Value:
    """A call of an LLVM intrinsic function."""
    module = builder.module
    function = module.globals.get(name)
    if function is None:
        kind = ir.FunctionType(result, [argument.type for argument in arguments])
        function = ir.Function(module, kind, name)
    return builder.call(function, arguments)


def splat(builder: ir.IRBuilder, value: ir.Value, count: int) -> ir.Value:
    """The value in every lane of a vector."""
    vector = ir.VectorType(value.type, count)
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), value, I32(0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(I32, count), [0] * count))


def at(builder: ir.IRBuilder, address: ir.Value, offset: int, kind: ir.Type) -> ir.Value:
    """A pointer to a `kind`, `offset` bytes after an address."""
    place = builder.add(address, I64(offset)) if offset else address
    return builder.inttoptr(place, kind.as_pointer())


def fma(builder: ir.IRBuilder, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
    """a·b + c, rounded once."""
    return call_intrinsic(builder, f"llvm.fma.v{a.type.count}f32", a.type, a, b, c)


def prefetch(builder: ir.IRBuilder, place: ir.Value) -> None:
    """Ask for the cache line of a pointer, which may lie outside of what was allocated."""
    read, keep, data = I32(0), I32(3), I32(1)
    call_intrinsic(builder, "llvm.prefetch.p0", ir.VoidType(), place, read, keep, data)


def variable(builder: ir.IRBuilder, kind: ir.Type, value: object) -> ir.Value:
    """A local variable, which LLVM turns into a register."""
    with builder.goto_entry_block():
        place = builder.alloca(kind)
    builder.store(ir.Constant(kind, value), place)
    return place


@contextmanager
def repeat(builder: ir.IRBuilder, condition: Callable[[], ir.Value]) -> Iterator[None]:
    """What is built inside runs as long as the condition, rebuilt each time, holds."""
    test, body, end = (builder.append_basic_block(name) for name in ("test", "body", "end"))
    builder.branch(test)
    builder.position_at_end(test)
    builder.cbranch(condition(), body, end)
    builder.position_at_end(body)
    yield
    builder.branch(test)
    builder.position_at_end(end)


@contextmanager
def count_to(builder: ir.IRBuilder, limit: ir.Value) -> Iterator[ir.Value]:
    """What is built inside runs for every number from 0 to `limit` − 1, which it is given."""
    number = variable(builder, I64, 0)
    with repeat(builder, lambda: builder.icmp_signed("<", builder.load(number), limit)):
        now = builder.load(number)
        yield now
        builder.store(builder.add(now, I64(1)), number)


def blocks(
    builder: ir.IRBuilder, count: ir.Value, sizes: tuple[int, ...]
) -> Iterator[tuple[ir.Value, int]]:
    """Divide `count` items into blocks, the largest first; the last of `sizes` is 1.

    Yields (first item, size of the block) once for each size: what is built then is repeated for
    as many blocks of that size as fit.
    """
    done = variable(builder, I64, 0)
    for size in sizes:

        def fits(size: int = size) -> ir.Value:
            return builder.icmp_signed(">=", builder.sub(count, builder.load(done)), I64(size))

        with repeat(builder, fits):
            first = builder.load(done)
            yield first, size
            builder.store(builder.add(first, I64(size)), done)
