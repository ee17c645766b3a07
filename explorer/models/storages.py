"""The memory that tensors take, each piece counted once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch
from torch import nn


def tensors_of(module: nn.Module) -> Iterator[torch.Tensor]:
    """All tensors of a module: parameters, buffers, and the scales of bitsandbytes."""
    yield from module.buffers()
    for parameter in module.parameters():
        yield parameter
        state = getattr(parameter, "quant_state", None)
        for scales in (state, getattr(state, "state2", None)):
            if scales is not None:
                yield scales.absmax


def storages(tensors: Iterable[torch.Tensor]) -> dict[int, int]:
    """Sizes in bytes of the tensors' memory by its address, so that each piece counts once."""
    found = (tensor.untyped_storage() for tensor in tensors)
    return {storage.data_ptr(): storage.nbytes() for storage in found}
