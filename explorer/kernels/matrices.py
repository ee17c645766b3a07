"""Quantised matrices in the layout of the integer kernels, and their products with rows."""

from __future__ import annotations

import ctypes
import threading

import numba
import numpy as np
import torch
from numba import types
from torch import Tensor, nn

from explorer.kernels.compiled import int64_fields
from explorer.kernels.dot import GROUP, RECORD
from explorer.kernels.isa import instruction_set
from explorer.kernels.products import PRODUCTS, call
from explorer.kernels.quantise import quantise_row
from explorer.kernels.team import new_team, reset, take, take_next
from explorer.kernels.threads import on_all_threads
from explorer.weights.gguf_codes import Codes

CHUNK = 16  # tiles that a thread takes at a time


class Product(ctypes.Structure):
    """Addresses and sizes of a product of n rows.

    tiles      of the first, of `num_tiles` of `tile_bytes` bytes, for `lanes` outputs each
    groups     of 32 inputs
    x          [n, 32 · groups] float32
    records    [n, groups]: x quantised
    out        [n, num_tiles · lanes] float32
    team       kernels/team.py
    """

    _fields_ = int64_fields(
        "bits tiles num_tiles tile_bytes lanes groups x n records out team tile_into tile_onto"
    )


PRODUCT_TYPE = numba.from_dtype(np.dtype(Product))


class IntegerMatrix:
    """A matrix [N, K] of 4-bit or 8-bit codes, in tiles (kernels/dot.py). K is whole groups of 32.

    tiles uint8 [⌈N / lanes⌉, K / 32, block bytes]; rows beyond N are zeros
    """

    def __init__(self, codes: Codes) -> None:
        self.shape = codes.codes.shape
        self.bits = 8 if codes.codes.dtype == np.int8 else 4
        lanes = instruction_set().lanes
        self.tiles = torch.from_numpy(tiles_of(codes, lanes))
        num_tiles, self._groups, block = self.tiles.shape
        self._width = num_tiles * lanes
        self._lock = threading.Lock()  # what follows is shared
        self._team, self._records = new_team(2), torch.empty(0, dtype=torch.uint8)
        self._call = Product(
            bits=self.bits,
            tiles=self.tiles.data_ptr(),
            num_tiles=num_tiles,
            tile_bytes=self._groups * block,
            lanes=lanes,
            groups=self._groups,
            team=self._team.ctypes.data,
            **PRODUCTS,
        )
        self._at = ctypes.addressof(self._call)

    def __call__(self, x: Tensor) -> Tensor:
        """x [n, K] float32 → x Wᵀ [n, N] float32, on all of torch's threads."""
        x, n = x.contiguous(), x.shape[0]
        out = torch.empty(n, self._width)
        with self._lock:
            if n * self._groups * RECORD > self._records.numel():
                self._records = torch.empty(n * self._groups * RECORD, dtype=torch.uint8)
            call = self._call
            call.n, call.x, call.out = n, x.data_ptr(), out.data_ptr()
            call.records = self._records.data_ptr()
            reset(self._team)
            on_all_threads(_task.address, self._at)
        return out if self._width == self.shape[0] else out[:, : self.shape[0]]

    @property
    def address(self) -> int:
        """Of the first tile."""
        return self.tiles.data_ptr()

    def __deepcopy__(self, _: object) -> IntegerMatrix:
        """Itself: its weights never change, and addresses point into them."""
        return self

    def codes(self, rows: Tensor) -> Codes:
        """The codes of these rows [m], as they were packed."""
        lanes, groups, bits = instruction_set().lanes, self.shape[1] // GROUP, self.bits
        blocks = self.tiles[rows // lanes].numpy()  # [m, groups, block bytes]
        lane = (rows % lanes).numpy()[:, None, None, None, None]
        end = lanes * GROUP * bits // 8
        packed = blocks[..., :end].reshape(len(rows), groups, bits, lanes, 4)
        own = np.take_along_axis(packed, lane, axis=3)[..., 0, :]  # [m, groups, bits, 4]
        if bits == 4:
            codes = np.stack([own & 15, own >> 4], axis=3)
        else:
            codes = (own.astype(np.int16) - 128).astype(np.int8)
        halves = blocks[..., end:].copy().view(np.float16).reshape(len(rows), groups, -1, lanes)
        parts = np.take_along_axis(halves, lane[..., 0], axis=3)[..., 0].astype(np.float32)
        offset = parts[..., 1] if bits == 4 else np.zeros_like(parts[..., 0])
        return Codes(codes.reshape(len(rows), -1), parts[..., 0], offset)

    @property
    def num_bytes(self) -> int:
        """What a product with it reads."""
        return self.tiles.numel()


def runs(codes: Codes) -> bool:
    """Whether this machine has the instructions, and the matrix whole groups and finite numbers."""
    return instruction_set() is not None and codes.codes.shape[1] % GROUP == 0


def tiles_of(codes: Codes, lanes: int) -> np.ndarray:
    """Codes as tiles, uint8 [tiles, groups, block bytes]: see kernels/dot.py."""
    bits = 8 if codes.codes.dtype == np.int8 else 4
    rows, inputs = codes.codes.shape
    missing, groups = -rows % lanes, inputs // GROUP
    padded = [
        np.pad(part, ((0, missing), (0, 0))) for part in (codes.codes, codes.scale, codes.offset)
    ]
    grouped, scale, minimum = (
        part.reshape(-1, lanes, groups, part.shape[1] // groups) for part in padded
    )
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
    rows = p.n
    row = take(p.team, 0, rows)
    while row >= 0:
        at = 4 * GROUP * p.groups * row
        quantise_row(p.x + at, GROUP * p.groups, p.records + RECORD * p.groups * row)
        row = take_next(p.team, 0, rows)
    row_bytes, out_bytes = RECORD * p.groups, 4 * p.num_tiles * p.lanes
    items = -(-p.num_tiles // CHUNK)
    item = take(p.team, 1, items)
    while item >= 0:
        for tile in range(CHUNK * item, min(CHUNK * item + CHUNK, p.num_tiles)):
            weights, out = p.tiles + p.tile_bytes * tile, p.out + 4 * p.lanes * tile
            call(p.tile_into, p.bits, weights, p.groups, p.records, row_bytes, p.n, out, out_bytes)
        item = take_next(p.team, 1, items)


@numba.cfunc(types.void(types.CPointer(PRODUCT_TYPE)), cache=True)
def _task(address):
    _product(numba.carray(address, 1)[0])


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
        y = self.matrix(x.reshape(-1, self.in_features).float())
        if self.bias is not None:
            y = y + self.bias
        return y.to(x.dtype).view(*x.shape[:-1], self.out_features)
