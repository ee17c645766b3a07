"""The perplexity of the tuned base model in each way to serve it."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from explorer.kernels.linears import dense_linear, round_to_four_bits
from explorer.kernels.nf4 import COLUMNS, ROWS
from explorer.training.joint_task import JointTask
from explorer.weights.gguf_codes import GROUP


def perplexities(task: JointTask) -> dict[str, float]:
    """Perplexity of the held-out replies under the untouched model and the tuned one.

    untouched        the base model as it was
    unmerged         with the adapter beside its weights
    merged           W + up·down in the network's own dtype
    merged_int4      that, quantised again as Q4_1, which the int4 backend runs
    merged_nf4       that, quantised again as NF4, double-quantised
    """
    found = {}
    for name, mode in (("untouched", "off"), ("unmerged", "unmerged")):
        task.lora.switch(mode)
        found[name] = task.perplexity(task.held_states())
    for name, quantise in _MERGED.items():
        found[name] = _merged_perplexity(task, quantise)
    task.lora.switch(None)
    return found


def _merged_perplexity(task: JointTask, quantise: Callable[[Tensor], Tensor]) -> float:
    network, layers = task.model.network, task.lora.layers
    try:
        for name, layer in layers.items():
            with torch.no_grad():
                weight = quantise(layer.tuned_weight()).to(network.dtype)
            network.set_submodule(name, dense_linear(weight, layer.layer.base_layer.bias))
        return task.perplexity(task.held_states())
    finally:
        for name, layer in layers.items():
            network.set_submodule(name, layer)


def _int4(weight: Tensor) -> Tensor:
    return weight if weight.shape[1] % GROUP else round_to_four_bits(weight)


def _nf4(weight: Tensor) -> Tensor:
    from bitsandbytes.functional import dequantize_4bit, quantize_4bit

    if weight.shape[1] % COLUMNS or weight.shape[0] % ROWS:
        return weight
    packed, state = quantize_4bit(
        weight.to(torch.bfloat16), quant_type="nf4", compress_statistics=True
    )
    return dequantize_4bit(packed, state)


_MERGED: dict[str, Callable[[Tensor], Tensor]] = {
    "merged": lambda weight: weight,
    "merged_int4": _int4,
    "merged_nf4": _nf4,
}
