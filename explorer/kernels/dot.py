"""The inner loop of a matrix product over quantised rows, written as LLVM instructions.

A matrix is stored in *tiles* of `lanes` outputs. A tile is a row of blocks, one a group of 32
inputs, each laid out so that one load fills a register with 4 neighbouring inputs of every output:

    4 bits   [4, lanes, 4] bytes: the low nibbles are inputs 8j … 8j+3, the high ones 8j+4 … 8j+7;
             fp16 scale [lanes]; fp16 minimum [lanes]
    8 bits   [8, lanes, 4] bytes: code + 128; fp16 scale [lanes]

A quantised row is a row of records, one a group: 32 int8 codes, then scale and offset as float32,
where offset = scale · (sum of the codes). With that a group adds to an output

    weight scale · row scale · Σ weight code · row code  +  weight minimum · row offset

The integer sum is exact. The two float steps are fused multiply-adds in one fixed order, group
after group, written out here and never reordered: so an output is the same bits however many rows
are computed beside its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from llvmlite import ir

from explorer.kernels.building import (
    F16,
    F32,
    I8,
    I32,
    I64,
    at,
    blocks,
    count_to,
    fma,
    prefetch,
    splat,
    variable,
    vector,
)
from explorer.kernels.isa import InstructionSet

GROUP = 32
STEPS = GROUP // 4  # dot steps in a group
RECORD = GROUP + 8  # bytes of a group of a quantised row
SCALE, OFFSET = GROUP, GROUP + 4  # where they lie in a record
CACHE_LINE, AHEAD = 64, 4096  # bytes; a core reads a third faster with it


def block_bytes(bits: int, lanes: int) -> int:
    """Bytes of a group of a tile."""
    return lanes * (GROUP * bits // 8 + (4 if bits == 4 else 2))


@dataclass(frozen=True)
class Product:
    """The arguments of a tile's product, as LLVM values: addresses are i64, counts too.

    weights      of the tile's first block, `groups` of them
    rows         of the first quantised row; `row_bytes` to the next, `count` rows in all
    out          of the first row's first output, float32; `out_bytes` to the next row
    """

    weights: ir.Value
    groups: ir.Value
    rows: ir.Value
    row_bytes: ir.Value
    count: ir.Value
    out: ir.Value
    out_bytes: ir.Value


@dataclass(frozen=True)
class TileProduct:
    """out[r] (+)= tile · row[r] for all rows; `add` keeps what `out` holds and adds to it."""

    isa: InstructionSet
    bits: int
    add: bool

    def emit(self, builder: ir.IRBuilder, call: Product) -> None:
        """All rows, in blocks of as many as registers allow, then in smaller ones."""
        for first, size in blocks(builder, call.count, self.isa.row_blocks):
            rows = builder.add(call.rows, builder.mul(first, call.row_bytes))
            out = builder.add(call.out, builder.mul(first, call.out_bytes))
            self._rows(builder, call, rows, out, size)

    def _rows(
        self, builder: ir.IRBuilder, call: Product, first: ir.Value, out: ir.Value, size: int
    ) -> None:
        """`size` rows from the one at `first` on: their sums stay in registers throughout."""
        floats = vector(F32, self.isa.lanes)
        rows = [builder.add(first, builder.mul(call.row_bytes, I64(r))) for r in range(size)]
        totals = [variable(builder, floats, [0.0] * self.isa.lanes) for _ in rows]
        with count_to(builder, call.groups) as group:
            size_of_block = I64(block_bytes(self.bits, self.isa.lanes))
            block = builder.add(call.weights, builder.mul(group, size_of_block))
            record = builder.mul(group, I64(RECORD))
            self._fetch_ahead(builder, block)
            self._group(builder, block, [builder.add(row, record) for row in rows], totals)
        for r, total in enumerate(totals):
            place = at(builder, builder.add(out, builder.mul(call.out_bytes, I64(r))), 0, floats)
            value = builder.load(total)
            if self.add:
                value = builder.fadd(builder.load(place, align=4), value)
            builder.store(value, place, align=4)

    def _group(
        self,
        builder: ir.IRBuilder,
        block: ir.Value,
        records: list[ir.Value],
        totals: list[ir.Value],
    ) -> None:
        """Add one group's part to every row's total."""
        lanes = self.isa.lanes
        wholes = self._integer_sums(builder, block, records)
        after = lanes * GROUP * self.bits // 8
        scale = self._halves(builder, block, after)
        if self.bits == 4:
            minimum = self._halves(builder, block, after + 2 * lanes)
        else:  # the stored codes are 128 more than the weights'
            minimum = builder.fmul(scale, ir.Constant(scale.type, [-128.0] * lanes))
        for whole, record, total in zip(wholes, records, totals, strict=True):
            product = builder.sitofp(whole, scale.type)
            both = builder.fmul(scale, self._spread(builder, record, SCALE))
            value = fma(builder, both, product, builder.load(total))
            value = fma(builder, minimum, self._spread(builder, record, OFFSET), value)
            builder.store(value, total)

    def _fetch_ahead(self, builder: ir.IRBuilder, block: ir.Value) -> None:
        """Ask for the weights that come AHEAD bytes later: tiles lie one after the other."""
        for line in range(0, block_bytes(self.bits, self.isa.lanes), CACHE_LINE):
            prefetch(builder, at(builder, block, AHEAD + line, I8))

    def _integer_sums(
        self, builder: ir.IRBuilder, block: ir.Value, records: list[ir.Value]
    ) -> list[ir.Value]:
        """Σ weight code · row code over a group, for every row: <lanes × i32>."""
        isa, split = self.isa, self.bits > self.isa.code_bits
        sums = [[isa.zero() for _ in records] for _ in range(1 + split)]
        for step, parts in enumerate(self._unpacked(builder, block, split)):
            for r, record in enumerate(records):
                acts = self._four_codes(builder, record, step)
                for part, codes in enumerate(parts):
                    sums[part][r] = isa.step(builder, sums[part][r], codes, acts)
        low, *high = [[isa.sums(builder, total) for total in part] for part in sums]
        if not split:
            return low
        four = ir.Constant(low[0].type, [4] * isa.lanes)
        return [builder.add(a, builder.shl(b, four)) for a, b in zip(low, high[0], strict=True)]

    def _unpacked(
        self, builder: ir.IRBuilder, block: ir.Value, split: bool
    ) -> Iterator[list[ir.Value]]:
        """Per dot step, the weight codes <4·lanes × i8>: one vector, or two if they are split."""
        kind = vector(I8, 4 * self.isa.lanes)
        low_bits, shift = (ir.Constant(kind, [n] * kind.count) for n in (15, 4))
        for load in range(STEPS * self.bits // 8):
            codes = builder.load(at(builder, block, load * kind.count, kind), align=1)
            if self.bits == 8 and not split:
                yield [codes]
                continue
            low, high = builder.and_(codes, low_bits), builder.lshr(codes, shift)
            yield from [[low, high]] if split else [[low], [high]]

    def _four_codes(self, builder: ir.IRBuilder, record: ir.Value, step: int) -> ir.Value:
        """The row's codes of one dot step, the same for every lane."""
        word = builder.load(at(builder, record, 4 * step, I32), align=1)
        return builder.bitcast(splat(builder, word, self.isa.lanes), vector(I8, 4 * self.isa.lanes))

    def _halves(self, builder: ir.IRBuilder, block: ir.Value, after: int) -> ir.Value:
        """`lanes` fp16 numbers of a block as float32."""
        place = at(builder, block, after, vector(F16, self.isa.lanes))
        return builder.fpext(builder.load(place, align=2), vector(F32, self.isa.lanes))

    def _spread(self, builder: ir.IRBuilder, record: ir.Value, after: int) -> ir.Value:
        """A float of a row's record in every lane."""
        return splat(
            builder, builder.load(at(builder, record, after, F32), align=4), self.isa.lanes
        )
