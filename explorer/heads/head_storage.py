"""The storage of heads' weights in a checkpoint: floating-point numbers, or 8 bits.

`q8_0` is ggml's format of that name: 32 weights of a row share an fp16 scale, so a matrix [..., H]
becomes blocks uint8 [..., H / 32 · 34], about half the bytes of bfloat16. The largest weight of a
group has 127 steps, so each is off by less than half a hundredth of it.
"""

from __future__ import annotations

from typing import Literal

import gguf
import torch
from torch import Tensor

from explorer.weights.gguf_codes import GROUP

Storage = Literal["bfloat16", "float16", "float32", "q8_0"]
Q8_0 = gguf.GGMLQuantizationType.Q8_0
BLOCK_BYTES = gguf.GGML_QUANT_SIZES[Q8_0][1]  # for GROUP weights


def stored(weight: Tensor, storage: Storage) -> Tensor:
    """A floating-point tensor as a checkpoint holds it.

    In `q8_0`, tensors whose rows are not whole groups stay in bfloat16.
    """
    if storage != "q8_0":
        return weight.to(getattr(torch, storage))
    if weight.shape[-1] % GROUP:
        return weight.to(torch.bfloat16)
    return torch.from_numpy(gguf.quants.quantize(weight.float().numpy(), Q8_0))


def restored(tensor: Tensor) -> Tensor:
    """The inverse of `stored`, up to rounding; blocks of 8 bits become bfloat16."""
    if tensor.dtype != torch.uint8 or tensor.shape[-1] % BLOCK_BYTES:
        return tensor
    return torch.from_numpy(gguf.quants.dequantize(tensor.numpy(), Q8_0)).to(torch.bfloat16)
