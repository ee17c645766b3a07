"""A matrix of GGUF codes as a linear layer, in the kernel that this machine runs fastest."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from explorer.kernels.int4 import Int4Linear, supports
from explorer.kernels.matrices import IntegerLinear, runs
from explorer.weights.gguf_codes import Codes

PACKED = (IntegerLinear, Int4Linear)


def packed_linear(codes: Codes, bias: Tensor | None, device: torch.device) -> nn.Module | None:
    """The integer kernels on a CPU that has the instructions, PyTorch's int4 kernel elsewhere.

    None where neither takes the matrix.
    """
    if device.type == "cpu" and runs(codes):
        return IntegerLinear(codes, bias)
    if codes.codes.dtype.kind == "u" and supports(codes, device):
        return Int4Linear(codes, bias, device)
    return None
