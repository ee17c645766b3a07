"""The one machine instruction that integer products are made of, on each kind of CPU.

All of them multiply unsigned weight codes by signed activation codes, four neighbours at a time,
and add the four products into one 32-bit lane: a *dot step*. A lane is one output, so a register of
`lanes` outputs takes 4·lanes weight codes and the same four activation codes for every lane.

Sums of integers have no order, so every instruction set gives the same bits, and so does any number
of rows computed together. What differs is how wide a code may be before a dot step saturates:

    AVX2        vpmaddubsw adds *pairs* into 16 bits: eight steps of codes up to 15 (4 bits) fit
                (8 · 2 · 15 · 127 = 30,480), codes of 8 bits do not
    AVX-512     vpdpbusd adds four into 32 bits: codes of 8 bits fit (VNNI; AVX-VNNI is the same
                instruction on half the width)
    Arm         sdot takes both sides signed: codes up to 127 fit

Where a code of 8 bits does not fit, it is split in two of 4 bits (kernels/dot.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache

import llvmlite.binding as llvm
from llvmlite import ir

from explorer.kernels.building import I16, I32, call_intrinsic, vector


class InstructionSet(ABC):
    """`lanes` outputs a register; `code_bits` of a weight that a dot step takes unsplit.

    `row_blocks`: how many rows are computed together, largest first, as registers allow;
    `query_blocks`: likewise of queries, in attention; `accumulators`: how many sums of 16 floats
    they leave room for.
    """

    name: str
    lanes: int
    code_bits: int
    row_blocks: tuple[int, ...]
    query_blocks: tuple[int, ...] = (4, 2, 1)
    accumulators: int = 4

    def beside(self, number: int) -> tuple[int, ...]:
        """Of how many blocks, largest first, `number` queries may be computed side by side."""
        widest = next((wide for wide in (8, 4, 2) if number * wide <= self.accumulators), None)
        return (widest, 1) if widest else (1,)

    def zero(self) -> ir.Value:
        """The empty sum of a group."""
        return ir.Constant(vector(I32, self.lanes), [0] * self.lanes)

    @abstractmethod
    def step(
        self, builder: ir.IRBuilder, total: ir.Value, codes: ir.Value, acts: ir.Value
    ) -> ir.Value:
        """total + the dot step of weight codes and activation codes, both <4·lanes × i8>."""

    def sums(self, builder: ir.IRBuilder, total: ir.Value) -> ir.Value:
        """The sum of a group's eight steps as <lanes × i32>."""
        return total


class Avx2(InstructionSet):
    """256 bits, vpmaddubsw and vpmaddwd."""

    name, lanes, code_bits, row_blocks = "AVX2", 8, 4, (4, 3, 2, 1)

    def zero(self) -> ir.Value:
        """Pairs of products, in 16 bits."""
        return ir.Constant(vector(I16, 16), [0] * 16)

    def step(
        self, builder: ir.IRBuilder, total: ir.Value, codes: ir.Value, acts: ir.Value
    ) -> ir.Value:
        """See InstructionSet."""
        pairs = call_intrinsic(builder, "llvm.x86.avx2.pmadd.ub.sw", total.type, codes, acts)
        return builder.add(total, pairs)

    def sums(self, builder: ir.IRBuilder, total: ir.Value) -> ir.Value:
        """Pairs added to pairs, in 32 bits."""
        ones = ir.Constant(total.type, [1] * 16)
        return call_intrinsic(builder, "llvm.x86.avx2.pmadd.wd", vector(I32, 8), total, ones)


class Vnni(InstructionSet):
    """vpdpbusd on 512 bits (AVX-512 VNNI) or 256 (AVX-VNNI)."""

    code_bits = 8

    def __init__(self, bits: int) -> None:
        self.name = f"AVX{'-512' if bits == 512 else ''} VNNI"
        self.lanes = bits // 32
        self.row_blocks = (8, 7, 6, 5, 4, 3, 2, 1) if bits == 512 else (4, 3, 2, 1)
        if bits == 512:
            self.query_blocks = (12, 6, 4, 3, 2, 1)  # groups often have 3, 4 or 6 heads
            self.accumulators = 24
        self._instruction = f"llvm.x86.avx512.vpdpbusd.{bits}"

    def step(
        self, builder: ir.IRBuilder, total: ir.Value, codes: ir.Value, acts: ir.Value
    ) -> ir.Value:
        """See InstructionSet."""
        return call_intrinsic(builder, self._instruction, total.type, total, codes, acts)


class ArmDot(InstructionSet):
    """128 bits, sdot: both sides are signed, which codes up to 127 do not mind."""

    name, lanes, code_bits, row_blocks = "Arm dot product", 4, 7, (8, 7, 6, 5, 4, 3, 2, 1)

    def step(
        self, builder: ir.IRBuilder, total: ir.Value, codes: ir.Value, acts: ir.Value
    ) -> ir.Value:
        """See InstructionSet."""
        name = "llvm.aarch64.neon.sdot.v4i32.v16i8"
        return call_intrinsic(builder, name, total.type, total, codes, acts)


@cache
def instruction_set() -> InstructionSet | None:
    """The widest that this CPU has; None where it has none of them."""
    has = llvm.get_host_cpu_features()
    if has.get("avx512vnni") and has.get("avx512vl") and has.get("avx512bw"):
        return Vnni(512)
    if has.get("avxvnni") and has.get("f16c"):
        return Vnni(256)
    if has.get("avx2") and has.get("fma") and has.get("f16c"):
        return Avx2()
    if has.get("dotprod"):
        return ArmDot()
    return None
