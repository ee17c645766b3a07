"""The quantisation codes inside a GGUF file, without conversion.

Block layouts: ggml's `block_q4_0` (fp16 d, 16 bytes: w = d·(q − 8)), `block_q4_1` (fp16 d, fp16
m, 16 bytes: w = d·q + m) and `block_q8_0` (fp16 d, 32 int8: w = d·q), 32 weights each; the low
nibbles hold the first 16 weights of a block, the high nibbles the last 16.
"""

from __future__ import annotations

from dataclasses import dataclass

import gguf
import numpy as np

GROUP = 32
Q4_TYPES = (gguf.GGMLQuantizationType.Q4_0, gguf.GGMLQuantizationType.Q4_1)
Q8_TYPES = (gguf.GGMLQuantizationType.Q8_0,)


@dataclass(frozen=True)
class Codes:
    """An affine-quantised matrix of N rows and K columns: w = code · scale + offset.

    codes [N, K] uint8 in 0…15 (4-bit) or int8 (8-bit); scale, offset [N, K / 32] float32
    """

    codes: np.ndarray
    scale: np.ndarray
    offset: np.ndarray

    def permuted(self, rows: np.ndarray) -> Codes:
        """The same matrix with its rows in another order."""
        return Codes(self.codes[rows], self.scale[rows], self.offset[rows])

    def dequantised(self) -> np.ndarray:
        """[N, K] float32."""
        grouped = self.codes.reshape(*self.scale.shape, GROUP).astype(np.float32)
        weights = grouped * self.scale[..., None] + self.offset[..., None]
        return weights.reshape(self.codes.shape)


def _halves(blocks: np.ndarray, start: int) -> np.ndarray:
    return blocks[..., start : start + 2].copy().view(np.float16)[..., 0].astype(np.float32)


@dataclass(frozen=True)
class StoredTensor:
    """One tensor as stored: data [rows, bytes a row] uint8, or the values of a float tensor."""

    tensor_type: gguf.GGMLQuantizationType
    data: np.ndarray
    shape: tuple[int, ...]


def four_bit_codes(tensor: StoredTensor) -> Codes:
    """The codes of a Q4_0 or Q4_1 matrix."""
    affine = tensor.tensor_type == gguf.GGMLQuantizationType.Q4_1
    header = 4 if affine else 2
    blocks = tensor.data.reshape(tensor.shape[0], -1, header + GROUP // 2)
    packed = blocks[..., header:]
    codes = np.concatenate([packed & 15, packed >> 4], axis=-1).reshape(blocks.shape[0], -1)
    scale = _halves(blocks, 0)
    return Codes(codes, scale, _halves(blocks, 2) if affine else -8.0 * scale)


def eight_bit_codes(tensor: StoredTensor) -> Codes:
    """The codes of a Q8_0 matrix."""
    blocks = tensor.data.reshape(tensor.shape[0], -1, 2 + GROUP)
    codes = blocks[..., 2:].copy().view(np.int8).reshape(blocks.shape[0], -1)
    scale = _halves(blocks, 0)
    return Codes(codes, scale, np.zeros_like(scale))
