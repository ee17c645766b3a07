"""The int4 backend: a GGUF's own 4-bit codes through PyTorch's packed int4 matmul.

PyTorch's kernel computes w = (q − 8)·scale + zero in groups of 32 with bf16 activations, so every
4-bit code of Q4_0 and Q4_1 is held exactly; only the fp16 scales and offsets are rounded to bf16.
On a CPU the kernel reduces each row in the same order whatever the number of rows.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from explorer.weights.gguf_codes import GROUP, Codes

OUTPUT_MULTIPLE = {"cpu": 16, "cuda": 8}  # what the kernels ask of the number of output features


def supports(codes: Codes, device: torch.device) -> bool:
    """Whether the kernel of this device takes a matrix of this shape."""
    outputs, inputs = codes.codes.shape
    if outputs % OUTPUT_MULTIPLE[device.type]:
        return False
    return device.type == "cpu" or inputs % 32 == 0


class Int4Linear(nn.Module):
    """x [..., K] bf16 → x Wᵀ (+ bias) [..., N] bf16, with W held as packed 4-bit codes."""

    def __init__(self, codes: Codes, bias: torch.Tensor | None, device: torch.device) -> None:
        super().__init__()
        self.out_features, self.in_features = codes.codes.shape
        zero = codes.offset + 8.0 * codes.scale
        # The kernel reads [K / 32, N, 2] as it lies in memory, so the layout must be made real.
        scales_and_zeros = torch.from_numpy(np.stack([codes.scale.T, zero.T], -1)).contiguous()
        self.register_buffer("packed", _pack(codes.codes, device))
        self.register_buffer("scales_and_zeros", scales_and_zeros.to(device, torch.bfloat16))
        self.register_buffer("bias", None if bias is None else bias.to(device, torch.bfloat16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[..., K] → [..., N]."""
        rows = x.reshape(-1, self.in_features)
        multiply = (
            torch.ops.aten._weight_int4pack_mm
            if rows.is_cuda
            else torch.ops.aten._weight_int4pack_mm_for_cpu
        )
        y = multiply(rows, self.packed, GROUP, self.scales_and_zeros)
        if self.bias is not None:
            y += self.bias
        return y.view(*x.shape[:-1], self.out_features)


def _pack(codes: np.ndarray, device: torch.device) -> torch.Tensor:
    if device.type == "cpu":
        whole = torch.from_numpy(codes.astype(np.int32))
        return torch.ops.aten._convert_weight_to_int4pack_for_cpu(whole, 1)
    pairs = torch.from_numpy((codes[:, 0::2] << 4) | codes[:, 1::2])
    # The CUDA kernel reads tiles of 16·t columns; take the widest t that divides the matrix.
    tiles = next(t for t in (8, 4, 2) if codes.shape[1] % (16 * t) == 0)
    return torch.ops.aten._convert_weight_to_int4pack(pairs.to(device), tiles)
