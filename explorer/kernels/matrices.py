"""Quantised matrices in the layout of the integer kernels, and their products with rows."""

from __future__ import annotations

import numba
import numpy as np
import torch
from numba import types
from torch import Tensor, nn

from explorer.kernels.dot import GROUP, RECORD, block_bytes
from explorer.kernels.isa import instruction_set
from explorer.kernels.machine import call_at, pointer, tile_into, whole_at
from explorer.kernels.quantise import quantise_row
from explorer.kernels.compiled import claim
from explorer.weights.gguf_codes import Codes
from explorer.kernels.threads import barrier, on_all_threads, team_size

CHUNK = 8  # tiles that a thread takes at a time
PRODUCT = np.dtype(
    [
        (name, np.int64)
        for name in (
            "bits",
            "tiles",  # address of the first, and how many there are
            "num_tiles",
            "tile_bytes",
            "lanes",
            "groups",
            "x",  # [n, 32 · groups] float32
            "n",
            "records",  # [n, groups] records
            "out",  # [n, num_tiles · lanes] float32
            "counters",  # [2], zeros
            "threads",
            "barrier",
        )
    ]
)
PRODUCT_TYPE = numba.from_dtype(PRODUCT)


class IntegerMatrix:
    """A matrix [N, K] of 4-bit or 8-bit codes, in tiles (kernels/dot.py). K is whole groups of 32.

    tiles uint8 [⌈N / lanes⌉, K / 32, block bytes]; rows beyond N are zeros
    """

    def __init__(self, codes: Codes) -> None:
        self.shape = codes.codes.shape
        self.bits = 8 if codes.codes.dtype == np.int8 else 4
        self.tiles = torch.from_numpy(_tiles(codes, self.bits, instruction_set().lanes))

    @property
    def address(self) -> int:
        """Of the first tile."""
        return self.tiles.data_ptr()

    @property
    def num_bytes(self) -> int:
        """What a product with it reads."""
        return self.tiles.numel()


def runs(codes: Codes) -> bool:
    """Whether this machine has the instructions, and the matrix whole groups and finite numbers."""
    return instruction_set() is not None and codes.codes.shape[1] % GROUP == 0


def _tiles(codes: Codes, bits: int, lanes: int) -> np.ndarray:
    """uint8 [tiles, groups, block bytes]: see kernels/dot.py."""
    rows, inputs = codes.codes.shape
    missing, groups = -rows % lanes, inputs // GROUP
    padded = [np.pad(part, ((0, missing), (0, 0))) for part in (codes.codes, codes.scale, codes.offset)]
    grouped, scale, minimum = (part.reshape(-1, lanes, groups, part.shape[1] // groups) for part in padded)
    count = grouped.shape[0]
    # [tile, lane, group, 32] -> steps of four inputs, lane by lane
    steps = grouped.reshape(count, lanes, groups, 8, 4).transpose(0, 2, 3, 1, 4)
    if bits == 4:
        packed = steps[:, :, 0::2] | (steps[:, :, 1::2] << 4)
        extra = [scale, minimum]
    else:
        packed = (steps.astype(np.int16) + 128).astype(np.uint8)
        extra = [scale]
    halves = [np.ascontiguousarray(part.transpose(0, 2, 1, 3), np.float16) for part in extra]
    parts = [packed.reshape(count, groups, -1)]
    parts += [half.view(np.uint8).reshape(count, groups, -1) for half in halves]
    return np.concatenate(parts, axis=-1)


@numba.njit(cache=True, error_model="numpy")
def _product(p):
    counters = numba.carray(whole_at(p.counters), 2)
    row = claim(counters)
    while row < p.n:
        at = 4 * GROUP * p.groups * row
        quantise_row(p.x + at, GROUP * p.groups, p.records + RECORD * p.groups * row)
        row = claim(counters)
    if p.threads > 1:
        call_at(p.barrier)
    row_bytes, out_bytes = RECORD * p.groups, 4 * p.num_tiles * p.lanes
    first = CHUNK * claim(counters[1:])
    while first < p.num_tiles:
        for tile in range(first, min(first + CHUNK, p.num_tiles)):
            weights, out = p.tiles + p.tile_bytes * tile, p.out + 4 * p.lanes * tile
            tile_into(p.bits, weights, p.groups, p.records, row_bytes, p.n, out, out_bytes)
        first = CHUNK * claim(counters[1:])


@numba.cfunc(types.void(types.CPointer(PRODUCT_TYPE)), cache=True)
def _task(address):
    _product(numba.carray(address, 1)[0])


def product(matrix: IntegerMatrix, x: Tensor) -> Tensor:
    """x [n, K] float32 → x Wᵀ [n, N] float32, on all of torch's threads."""
    x = x.contiguous()
    n, groups = x.shape[0], matrix.tiles.shape[1]
    num_tiles, lanes = matrix.tiles.shape[0], instruction_set().lanes
    records = torch.empty(n, groups * RECORD, dtype=torch.uint8)
    out = torch.empty(n, num_tiles * lanes)
    counters = np.zeros(2, np.int64)
    call = np.array(
        (
            matrix.bits,
            matrix.address,
            num_tiles,
            groups * block_bytes(matrix.bits, lanes),
            lanes,
            groups,
            x.data_ptr(),
            n,
            records.data_ptr(),
            out.data_ptr(),
            counters.ctypes.data,
            team_size(),
            barrier(),
        ),
        PRODUCT,
    )
    on_all_threads(_task.address, call.ctypes.data)
    return out[:, : matrix.shape[0]]


class IntegerLinear(nn.Module):
    """x [..., K] → x Wᵀ (+ bias) [..., N] in x's dtype, by the integer kernels."""

    def __init__(self, codes: Codes, bias: Tensor | None) -> None:
        super().__init__()
        self.matrix = IntegerMatrix(codes)
        self.out_features, self.in_features = codes.codes.shape
        self.register_buffer("tiles", self.matrix.tiles)
        self.register_buffer("bias", None if bias is None else bias.float())

    def forward(self, x: Tensor) -> Tensor:
        """[..., K] → [..., N]."""
        y = product(self.matrix, x.reshape(-1, self.in_features).float())
        if self.bias is not None:
            y = y + self.bias
        return y.to(x.dtype).view(*x.shape[:-1], self.out_features)
