"""One pass over several sequences at once, each after its own prefix.

Linear layers, norms and the LM head see the rows of all sequences together, which is what makes a
batch cheap: the weights are read once. Attention runs for each sequence over its own keys and
values, with the very kernel that decoding one sequence uses, so a row's result does not depend on
the other sequences.
"""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

import torch
from transformers import AttentionInterface

from explorer.decoding.cache import KVCache
from explorer.kernels.attention import fixed_order_attention
from explorer.kernels.layout import Layout, register_mask
from explorer.kernels.llama_cache import LlamaCache
from explorer.measuring.cost_curve import filled_cache, time_pass, tree_rows
from explorer.models.slots import SlotCache, SlotLayer
from explorer.models.static_cache import StaticCache

if TYPE_CHECKING:
    from explorer.models.base import LanguageModel

FIXED_ORDER_BATCH = "fixed_order_batch"


class BatchPasses:
    """Passes over `batch` sequences of `context_length` tokens each, of any width up to `widest`.

    Every pass starts after the same prefixes: nothing is ever committed.
    """

    def __init__(self, model: LanguageModel, batch: int, context_length: int, widest: int) -> None:
        self.model, self.batch = model, batch
        prefix = filled_cache(model, context_length)
        if not isinstance(prefix, LlamaCache):
            prefix = _BatchCache(prefix, batch, widest)
        self._cache: _BatchCache | LlamaCache = prefix

    @torch.inference_mode()
    def hidden(
        self, tokens: torch.Tensor, offsets: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """Hidden states [b, n, H] of tokens int64 [b, n], within `batch_attention`.

        offsets [n] and mask [n, n] as in LanguageModel.forward, the same for every sequence.
        """
        cache = self._cache
        assert isinstance(cache, _BatchCache)
        layout = Layout.of_tree(cache.length, offsets, mask, cache.slots_for(len(offsets)))
        return self.model.run(tokens, layout, cache)

    def milliseconds(self, n: int) -> float:
        """Time of a pass with a tree of n rows for every sequence, LM head included."""
        if isinstance(self._cache, LlamaCache):
            return time_pass(self.model, self._cache, *self._side_by_side(n))
        offsets, mask = tree_rows(n)
        tokens = (torch.arange(self.batch * n) % self.model.vocab_size).view(self.batch, n)
        with batch_attention(self.model):
            self.model.synchronise()
            start = time.perf_counter()
            self.model.logits(self.hidden(tokens, offsets, mask).flatten(0, 1))
            self.model.synchronise()
            return (time.perf_counter() - start) * 1000

    def _side_by_side(self, n: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Depths [b·n] and mask [b·n, b·n] of b trees in one pass, which do not see each other.

        The compiled pass has one cache, so all sequences read the same prefix: as many products
        and as much attention as with a prefix each, from memory that is b times smaller.
        """
        depths, mask = tree_rows(n)
        return depths.repeat(self.batch), torch.block_diag(*[mask] * self.batch)


def batch_attention(model: LanguageModel) -> AbstractContextManager[None]:
    """Inside this context the network's attention takes batches; the library's own always does."""
    return model.attention(FIXED_ORDER_BATCH) if model.fixed_order else nullcontext()


def _fixed_order_batch(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor,
    scaling: float,
    **_: object,
) -> tuple[torch.Tensor, None]:
    """`fixed_order_attention` for one sequence after the other.

    query [b, heads, n, head size]; key [b, kv heads, head size, slots] and value [b, kv heads,
    slots, head size]; the mask is the same for all. Returns ([b, n, heads, head size], None).
    """
    each = [
        fixed_order_attention(module, query[i : i + 1], key[i], value[i], attention_mask, scaling)
        for i in range(len(query))
    ]
    return torch.cat([output for output, _ in each]), None


AttentionInterface.register(FIXED_ORDER_BATCH, _fixed_order_batch)
register_mask(FIXED_ORDER_BATCH)


class _BatchLayer(SlotLayer):
    """One layer's slots for every sequence: a prefix, and room for the rows of a pass."""

    keys: torch.Tensor
    values: torch.Tensor

    def __init__(self, keys: torch.Tensor, values: torch.Tensor, length: int, fixed: bool) -> None:
        super().__init__()
        self.keys, self.values, self.length, self.fixed_order = keys, values, length, fixed
        self.is_initialized = True

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Nothing to do."""

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: object, **__: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write rows [b, kv heads, n, head size] after the prefixes; returns all slots."""
        end = self.length + key_states.shape[2]
        self.values[:, :, self.length : end] = value_states
        if self.fixed_order:
            self.keys[..., self.length : end] = key_states.transpose(2, 3)
            return self.keys, self.values
        self.keys[:, :, self.length : end] = key_states
        return self.keys[:, :, :end], self.values[:, :, :end]


class _BatchCache(SlotCache):
    """The KV cache of `batch` sequences, each with a copy of the prefix: one token or more."""

    def __init__(self, prefix: KVCache | StaticCache, batch: int, room: int) -> None:
        self.length, self.fixed_order = prefix.length, prefix.fixed_order
        slots = self.slots_for(room)
        layers = []
        for layer in prefix.layers:
            keys, values = (_with_room(states, batch, slots) for states in layer.committed())
            if self.fixed_order:
                keys = keys.transpose(2, 3).contiguous()
            layers.append(_BatchLayer(keys, values, self.length, self.fixed_order))
        super().__init__(layers=layers)


def _with_room(states: torch.Tensor, batch: int, slots: int) -> torch.Tensor:
    """[kv heads, length, size] → [batch, kv heads, slots, size], zeros after the prefix."""
    heads, length, size = states.shape
    roomy = states.new_zeros(batch, heads, slots, size)
    roomy[:, :, :length] = states
    return roomy
