"""Matrices in bitsandbytes' NF4, double-quantised: 4 bits a weight, and a little for the scales."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor, nn

if TYPE_CHECKING:
    from bitsandbytes.nn import Linear4bit

COLUMNS, ROWS = 64, 32  # the CPU kernel needs whole blocks of these
COMPUTE = torch.bfloat16


def nf4_linear(weight: Tensor, bias: Tensor | None, device: torch.device) -> Linear4bit:
    """The linear layer of weight [rows, columns], quantised on its way to the device."""
    from bitsandbytes.nn import Linear4bit, Params4bit

    rows, columns = weight.shape
    linear = Linear4bit(
        columns,
        rows,
        bias=bias is not None,
        compute_dtype=COMPUTE,
        compress_statistics=True,
        quant_type="nf4",
        device="meta",
    )
    linear.weight = Params4bit(
        weight, requires_grad=False, compress_statistics=True, quant_type="nf4"
    )
    linear.bias = bias
    return linear.to(device)


class FourBitProjection(nn.Module):
    """Heads' projections in NF4: [V', H] for all heads, or [K, V', H], one for each."""

    def __init__(self, projection: Tensor) -> None:
        super().__init__()
        self.vocabulary = projection.shape[-2]
        self.each = projection.dim() == 3
        matrices = projection if self.each else projection[None]
        padded = F.pad(matrices, (0, 0, 0, -self.vocabulary % ROWS)).to(COMPUTE)
        device = projection.device
        self.linears = nn.ModuleList(nf4_linear(m.contiguous(), None, device) for m in padded)

    def forward(self, features: Tensor) -> Tensor:
        """Logits: [K, m, H] -> [K, m, V'] where each head has its own, else [r, H] -> [r, V']."""
        if not self.each:
            return self.of_head(0, features)
        return torch.stack([self.of_head(k, x) for k, x in enumerate(features)])

    def of_head(self, head: int, features: Tensor) -> Tensor:
        """Logits of one projection: [m, H] -> [m, V']."""
        return self.linears[head](features.to(COMPUTE))[:, : self.vocabulary]
