"""The KV cache of the compiled pass: fp16, in the blocks that its attention reads.

Keys [layers, kv heads, slots / 16, head size, 16] and values [layers, kv heads, head size / 16,
slots, 16] (kernels/attend.py). Slots 0…length−1 hold the committed prefix, in order; a pass over n
rows writes the next n, of which a commit keeps the accepted ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numba
import numpy as np
import torch
from torch import Tensor

from explorer.kernels.attend import SLOTS

GROW_BY = 256  # slots; whole blocks


class LlamaCache:
    """The KV cache of one sequence: `length` committed slots, and those of the pass under way."""

    def __init__(self, layers: int, kv_heads: int, head_size: int) -> None:
        self.length = 0
        self._shape = layers, kv_heads, head_size
        self.capacity = 0
        self.reserve(GROW_BY)

    def reserve(self, slots: int) -> None:
        """Make room for this many slots; what is committed stays."""
        if slots <= self.capacity:
            return
        layers, kv_heads, size = self._shape
        capacity = -(-slots // GROW_BY) * GROW_BY
        # Zeros, not garbage: weight 0 times a NaN would not be 0.
        keys = torch.zeros(layers, kv_heads, capacity // SLOTS, size, SLOTS, dtype=torch.float16)
        values = torch.zeros(layers, kv_heads, size // SLOTS, capacity, SLOTS, dtype=torch.float16)
        if self.capacity:
            keys[:, :, : self.capacity // SLOTS] = self.keys
            values[:, :, :, : self.capacity] = self.values
        self.keys, self.values, self.capacity = keys, values, capacity

    def commit(self, rows: Sequence[int]) -> None:
        """Keep these rows of the last pass, in this order; drop its other rows."""
        if list(rows) != list(range(len(rows))):
            slots = np.array(rows, np.int64) + self.length
            # As 16-bit integers: the bits move, whatever they mean.
            keys, values = (part.view(torch.int16).numpy() for part in (self.keys, self.values))
            _move(keys, values, slots, self.length)
        self.length += len(rows)

    def rewind(self, length: int) -> None:
        """Forget all but the first `length` committed tokens."""
        self.length = min(length, self.length)

    @property
    def layers(self) -> list[LayerView]:
        """Each layer's committed keys and values, to look at."""
        return [LayerView(self, layer) for layer in range(self._shape[0])]


@dataclass(frozen=True)
class LayerView:
    """One layer of a cache."""

    cache: LlamaCache
    layer: int

    def committed(self) -> tuple[Tensor, Tensor]:
        """Keys and values of the prefix, each [kv heads, length, head size]."""
        keys, values = self.cache.keys[self.layer], self.cache.values[self.layer]
        keys = keys.transpose(2, 3).flatten(1, 2)  # [kv heads, slots, head size]
        values = values.transpose(1, 2).flatten(2)
        return keys[:, : self.cache.length], values[:, : self.cache.length]


@numba.njit(cache=True, nogil=True)
def _move(keys, values, slots, first):
    """Copy `slots`, which rise, to the slots from `first` on, in every layer."""
    layers, kv_heads, _, size, _ = keys.shape
    for layer in range(layers):
        for kv in range(kv_heads):
            for k in range(slots.size):
                old, new = slots[k], first + k
                for d in range(size):
                    keys[layer, kv, new // SLOTS, d, new % SLOTS] = keys[
                        layer, kv, old // SLOTS, d, old % SLOTS
                    ]
                for b in range(size // SLOTS):
                    for e in range(SLOTS):
                        values[layer, kv, b, new, e] = values[layer, kv, b, old, e]
