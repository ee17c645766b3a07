"""Linear layers of every backend as plain matrices, and plain matrices back in 4 bits."""

from __future__ import annotations

import gguf
import numpy as np
import torch
from torch import Tensor, nn

from explorer.kernels.matrices import IntegerLinear
from explorer.kernels.packed import PACKED
from explorer.weights.gguf_codes import GROUP, Codes, eight_bit_codes, four_bit_codes
from explorer.weights.gguf_file import StoredTensor

Q4_1, Q8_0 = gguf.GGMLQuantizationType.Q4_1, gguf.GGMLQuantizationType.Q8_0
BLOCK_BYTES = gguf.GGML_QUANT_SIZES[Q4_1][1]  # for GROUP weights


def is_linear(module: nn.Module) -> bool:
    """Whether the module is a linear layer of one of the backends."""
    return isinstance(module, (nn.Linear, *PACKED))


@torch.inference_mode()
def dense_weight(linear: nn.Module) -> Tensor:
    """The matrix [N, K] float32 that a linear layer multiplies by, whatever its backend.

    A packed layer is asked for it by the unit vectors; PyTorch's int4 kernel answers in bf16.
    """
    weight = getattr(linear, "weight", None)
    if weight is not None and weight.is_floating_point():
        return weight.float()
    device = next(iter(linear.state_dict().values())).device
    dtype = torch.float32 if isinstance(linear, IntegerLinear) else torch.bfloat16
    rows = linear(torch.eye(linear.in_features, dtype=dtype, device=device)).float()
    if linear.bias is not None:
        rows = rows - linear.bias.float()
    return rows.T.contiguous()


def four_bit_blocks(weight: Tensor) -> Tensor:
    """A matrix [N, K] as ggml's Q4_1 blocks, uint8 [N, K / 32 · 20]; K is a multiple of 32."""
    values = weight.detach().float().cpu().numpy()
    return torch.from_numpy(gguf.quants.quantize(values, Q4_1))


def eight_bit_codes_of(weight: Tensor) -> Codes:
    """A matrix [N, K] in ggml's Q8_0; K is a multiple of 32."""
    data = gguf.quants.quantize(weight.detach().float().cpu().numpy(), Q8_0)
    return eight_bit_codes(StoredTensor(Q8_0, data, tuple(weight.shape)))


def codes_of_blocks(blocks: Tensor) -> Codes:
    """The codes in Q4_1 blocks uint8 [N, bytes a row]."""
    data = blocks.numpy()
    rows, width = data.shape
    return four_bit_codes(StoredTensor(Q4_1, data, (rows, width // BLOCK_BYTES * GROUP)))


def dequantised(blocks: Tensor) -> Tensor:
    """The matrix [N, K] float32 that Q4_1 blocks hold."""
    return torch.from_numpy(np.ascontiguousarray(codes_of_blocks(blocks).dequantised()))


def round_to_four_bits(weight: Tensor) -> Tensor:
    """The matrix [N, K] as ggml's Q4_1 holds it: 16 even steps from each group's least weight."""
    groups = weight.view(weight.shape[0], -1, GROUP)
    low = groups.amin(-1, keepdim=True)
    step = (groups.amax(-1, keepdim=True) - low) / 15
    codes = ((groups - low) / step.clamp_min(1e-12) + 0.5).floor().clamp(0, 15)
    return (codes * step.half().float() + low.half().float()).view_as(weight)


def rounded_straight_through(weight: Tensor) -> Tensor:
    """The rounded matrix, whose gradient takes the rounding for the identity."""
    values = weight.detach()
    return weight + (round_to_four_bits(values) - values)


def dense_linear(weight: Tensor, bias: Tensor | None) -> nn.Linear:
    """An unquantised, frozen layer around the matrix [N, K], which is not copied."""
    linear = nn.Linear(*reversed(weight.shape), bias=bias is not None, device="meta")
    linear.weight = nn.Parameter(weight, requires_grad=False)
    if bias is not None:
        linear.bias = nn.Parameter(bias.to(weight), requires_grad=False)
    return linear
