"""The memory that a method adds to the base model's, counted from the tensors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import torch
from pydantic import BaseModel as Schema
from pydantic import ConfigDict, computed_field

from explorer.kernels.llama_cache import LlamaCache
from explorer.measuring.cost_curve import filled_cache
from explorer.models.storages import storages, tensors_of
from explorer.records.methods import find_method
from explorer.records.settings import DecodeSettings

if TYPE_CHECKING:
    from explorer.measuring.lab_protocol import LabProtocol
    from explorer.models.base import LanguageModel

CONTEXT = 256  # tokens in a draft model's KV cache when its memory is counted: it grows by these


class ExtraMemory(Schema):
    """Bytes in addition to the base model's. Tensors of the base model are not counted again.

    `cache_bytes` is the method's own KV cache as allocated for `context_length` tokens. `share` is
    all of it over `base_bytes`, the base model's weights.
    """

    model_config = ConfigDict(frozen=True)

    weights_bytes: int
    cache_bytes: int
    context_length: int
    base_bytes: int

    @computed_field
    @property
    def share(self) -> float:
        """Extra bytes over the base model's."""
        return (self.weights_bytes + self.cache_bytes) / self.base_bytes

    @computed_field
    @property
    def megabytes(self) -> float:
        """Extra memory in 10⁶ bytes."""
        return (self.weights_bytes + self.cache_bytes) / 1e6


def extra_memory(lab: LabProtocol, settings: DecodeSettings) -> ExtraMemory:
    """The memory of the settings' method. Raises ExplorerError if heads are missing.

    A draft model is loaded for it, if it is not yet. N-gram pools and indices are Python objects
    of some kilobytes and count as nothing.
    """
    base = storages(_tensors(lab.model))
    own: dict[int, int] = {}
    cache_bytes = 0
    chosen = lab.heads_for(settings)
    if chosen is not None:
        own = storages(tensors_of(chosen.heads))
    elif find_method(settings.method, lab.heads).draft_model:
        draft = lab.draft_model(settings.draft_layers)
        own, cache_bytes = storages(_tensors(draft)), _cache_bytes(draft)
    return ExtraMemory(
        weights_bytes=sum(size for place, size in own.items() if place not in base),
        cache_bytes=cache_bytes,
        context_length=CONTEXT,
        base_bytes=sum(base.values()),
    )


def _tensors(model: LanguageModel) -> Iterable[torch.Tensor]:
    return [*tensors_of(model.network), model.lm_head.weight]


def _cache_bytes(model: LanguageModel) -> int:
    cache = filled_cache(model, min(CONTEXT, model.context_length))
    parts = [cache] if isinstance(cache, LlamaCache) else cache.layers
    return sum(part.keys.nbytes + part.values.nbytes for part in parts)
