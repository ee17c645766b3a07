"""A preallocated KV cache that a tree pass writes into and a commit compacts in place.

Slots 0…length−1 hold the committed prefix, in order. A pass over n rows writes slots length…
length+n−1; `commit(rows)` keeps the accepted path's rows, in path order, and forgets the others.
Sliding-window layers keep all their slots: the window is part of the mask, so nothing that a
rejected row would have pushed out is ever lost. The layers are in models/slots.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from explorer.kernels.llama_cache import LlamaCache
from explorer.models.base import LanguageModel
from explorer.models.slots import GrowingLayer, SlotCache
from explorer.models.static_cache import StaticCache


class KVCache(SlotCache):
    """The KV cache of one sequence: `length` committed slots, and those of the pass under way."""

    layers: list[GrowingLayer]

    def __init__(self, num_layers: int, fixed_order: bool) -> None:
        super().__init__(layers=[GrowingLayer(fixed_order) for _ in range(num_layers)])
        self.fixed_order = fixed_order
        self.length = 0

    @classmethod
    def of(cls, model: LanguageModel, tokens: int = 0) -> AnyCache:
        """An empty cache that fits the model's passes; `tokens` is how long the text may get."""
        if model.compiled:
            return model.compiled.cache()
        return model.static.cache(tokens) if model.static else cls.of_network(model)

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


# Of transformers' network, of the compiled pass, or of passes of fixed shapes.
AnyCache = KVCache | LlamaCache | StaticCache
