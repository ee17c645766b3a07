"""What transformers needs of a KV cache: layers of slots that a pass writes its rows into.

Slots 0…length−1 hold the committed prefix, in order; a pass over n rows writes the next n.
"""

from __future__ import annotations

import torch
from transformers.cache_utils import Cache, CacheLayerMixin

from explorer.kernels.attention import pad_slots

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


def slot_axes(fixed_order: bool) -> tuple[int, int]:
    """The axis of the slots in keys and in values of one layer (`empty_states`)."""
    return (2, 1) if fixed_order else (2, 2)


def empty_states(
    like: torch.Tensor, slots: int, fixed_order: bool, keys: bool, layers: tuple[int, ...] = ()
) -> torch.Tensor:
    """Memory for `slots` states like those of a pass, [1, kv heads, n, head size].

    Fixed-order attention wants keys [kv heads, head size, slots] and values [kv heads, slots, head
    size] in float32 (kernels/attention.py), the attention of transformers [1, kv heads, slots, head
    size] in the model's dtype. Zeros, not garbage: weight 0 times a NaN would not be 0.
    """
    _, heads, _, size = like.shape
    if not fixed_order:
        return like.new_zeros(*layers, 1, heads, slots, size)
    shape = (heads, size, slots) if keys else (heads, slots, size)
    return torch.zeros(*layers, *shape, dtype=torch.float32)


class GrowingLayer(SlotLayer):
    """One layer's slots, which grow with the text. `update` is what its attention calls."""

    keys: torch.Tensor
    values: torch.Tensor

    def __init__(self, fixed_order: bool) -> None:
        super().__init__()
        self.fixed_order = fixed_order
        self.slot_axis = slot_axes(fixed_order)
        self.length = 0  # committed slots; kept equal in all layers by KVCache

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Memory for the first slots."""
        self.keys = empty_states(key_states, GROW_BY, self.fixed_order, keys=True)
        self.values = empty_states(value_states, GROW_BY, self.fixed_order, keys=False)
        self.is_initialized = True

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
            keep_rows(tensor, axis, self.length, rows.to(tensor.device))

    def committed(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Keys and values of the prefix, each [kv heads, length, head size]."""
        return committed_states(self.keys, self.values, self.length, self.fixed_order)


def keep_rows(tensor: torch.Tensor, axis: int, length: int, rows: torch.Tensor) -> None:
    """Copy slots `length` + rows [m] of a tensor, whose slots lie along `axis`, to `length`…"""
    kept = tensor.index_select(axis, rows + length)
    tensor.narrow(axis, length, rows.numel()).copy_(kept)


def committed_states(
    keys: torch.Tensor, values: torch.Tensor, length: int, fixed_order: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """The first `length` keys and values of a layer, each [kv heads, length, head size]."""
    if fixed_order:
        return keys[:, :, :length].transpose(1, 2), values[:, :length]
    return keys[0, :, :length], values[0, :, :length]


def _grown(tensor: torch.Tensor, axis: int, extra: int) -> torch.Tensor:
    shape = list(tensor.shape)
    shape[axis] = extra
    return torch.cat([tensor, tensor.new_zeros(shape)], dim=axis)
