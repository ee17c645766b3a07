"""A preallocated KV cache that a tree pass writes into and a commit compacts in place.

Slots 0…length−1 hold the committed prefix, in order. A pass over n rows writes slots length…
length+n−1; `commit(rows)` keeps the accepted path's rows, in path order, and forgets the others.
Sliding-window layers keep all their slots: the window is part of the mask, so nothing that a
rejected row would have pushed out is ever lost.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from transformers.cache_utils import Cache, CacheLayerMixin

from explorer.kernels.attention import pad_slots
from explorer.kernels.llama_cache import LlamaCache
from explorer.models.base import LanguageModel

GROW_BY = 256  # slots; a multiple of attention.SLOT_BLOCK


class SlotLayer(CacheLayerMixin):
    """The interface that transformers needs of one layer's slots; `length` are committed."""

    is_compileable = False
    is_sliding = False
    length: int

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """The number of slots that a pass of this many rows sees, and the first of them."""
        return self.length + query_length, 0

    def get_seq_length(self) -> int:
        """The committed slots."""
        return self.length

    def get_max_length(self) -> int:
        """No limit."""
        return -1


class SlotCache(Cache):
    """A cache of SlotLayers, `length` slots of each committed."""

    length: int
    fixed_order: bool

    def slots_for(self, n: int) -> int:
        """How many slots a mask over a pass of n rows has to cover."""
        return pad_slots(self.length + n) if self.fixed_order else self.length + n


class _Layer(SlotLayer):
    """One layer's slots. `update` is what the layer's attention calls during a pass."""

    keys: torch.Tensor
    values: torch.Tensor

    def __init__(self, fixed_order: bool) -> None:
        super().__init__()
        self.fixed_order = fixed_order
        self.length = 0  # committed slots; kept equal in all layers by KVCache

    # Slot axes: fixed-order attention wants keys transposed and float32 (kernels/attention.py),
    # the attention of transformers wants [1, kv heads, slots, head size] in the model's dtype.
    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        self.slot_axis = (2, 1) if self.fixed_order else (2, 2)
        self.keys = self._empty(key_states, 0)
        self.values = self._empty(value_states, 1)
        self.is_initialized = True

    def _empty(self, states: torch.Tensor, which: int, slots: int = GROW_BY) -> torch.Tensor:
        _, heads, _, size = states.shape
        if not self.fixed_order:
            return states.new_zeros(1, heads, slots, size)
        shape = (heads, size, slots) if which == 0 else (heads, slots, size)
        # Zeros, not garbage: weight 0 times a NaN would not be 0.
        return torch.zeros(shape, dtype=torch.float32)

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: object, **__: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write the pass's rows [1, kv heads, n, head size]; return all slots to attend to."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        end = self.length + key_states.shape[2]
        self._reserve(end)
        if self.fixed_order:
            self.keys[:, :, self.length : end] = key_states[0].transpose(1, 2)
            self.values[:, self.length : end] = value_states[0]
            return self.keys, self.values
        self.keys[:, :, self.length : end] = key_states
        self.values[:, :, self.length : end] = value_states
        return self.keys[:, :, :end], self.values[:, :, :end]

    def _reserve(self, slots: int) -> None:
        short = slots - self.keys.shape[self.slot_axis[0]]
        if short > 0:
            extra = -(-short // GROW_BY) * GROW_BY
            self.keys = _grown(self.keys, self.slot_axis[0], extra)
            self.values = _grown(self.values, self.slot_axis[1], extra)

    def keep(self, rows: torch.Tensor) -> None:
        """Move the given rows of the last pass [m] to the first slots after the prefix."""
        for tensor, axis in zip((self.keys, self.values), self.slot_axis, strict=True):
            kept = tensor.index_select(axis, rows.to(tensor.device) + self.length)
            tensor.narrow(axis, self.length, rows.numel()).copy_(kept)

    def committed(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Keys and values of the prefix, each [kv heads, length, head size]."""
        if self.fixed_order:
            return self.keys[:, :, : self.length].transpose(1, 2), self.values[:, : self.length]
        return self.keys[0, :, : self.length], self.values[0, :, : self.length]


def _grown(tensor: torch.Tensor, axis: int, extra: int) -> torch.Tensor:
    shape = list(tensor.shape)
    shape[axis] = extra
    return torch.cat([tensor, tensor.new_zeros(shape)], dim=axis)


class KVCache(SlotCache):
    """The KV cache of one sequence: `length` committed slots, and those of the pass under way."""

    layers: list[_Layer]

    def __init__(self, num_layers: int, fixed_order: bool) -> None:
        super().__init__(layers=[_Layer(fixed_order) for _ in range(num_layers)])
        self.fixed_order = fixed_order
        self.length = 0

    @classmethod
    def of(cls, model: LanguageModel) -> AnyCache:
        """An empty cache that fits the model's passes."""
        return model.compiled.cache() if model.compiled else cls.of_network(model)

    @classmethod
    def of_network(cls, model: LanguageModel) -> KVCache:
        """An empty cache for passes through transformers' network."""
        return cls(model.config.num_hidden_layers, model.fixed_order)

    @torch.inference_mode()
    def commit(self, rows: Sequence[int]) -> None:
        """Keep these rows of the last pass, in this order; drop its other rows."""
        if list(rows) != list(range(len(rows))):
            index = torch.tensor(rows)
            for layer in self.layers:
                layer.keep(index)
        self._set_length(self.length + len(rows))

    def rewind(self, length: int) -> None:
        """Forget all but the first `length` committed tokens."""
        self._set_length(min(length, self.length))

    def _set_length(self, length: int) -> None:
        self.length = length
        for layer in self.layers:
            layer.length = length


AnyCache = KVCache | LlamaCache  # of transformers' network, or of the compiled pass
