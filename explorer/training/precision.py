"""Mixed precision: bfloat16 products and float32 sums, where the machine has the arithmetic."""

from __future__ import annotations

from contextlib import AbstractContextManager

import torch


def compute_dtype(device: torch.device) -> torch.dtype:
    """What products are computed in: bfloat16, but float32 on a CPU without AVX-512 or the like.

    Such a CPU has to take bfloat16 apart number by number, which is seven times slower.
    """
    emulated = device.type == "cpu" and not torch.ops.mkldnn._is_mkldnn_bf16_supported()
    return torch.float32 if emulated else torch.bfloat16


def mixed_precision(device: torch.device) -> AbstractContextManager[None, bool | None]:
    """Inside this context, layers compute in `compute_dtype`."""
    dtype = compute_dtype(device)
    return torch.autocast(device.type, torch.bfloat16, enabled=dtype is torch.bfloat16)
