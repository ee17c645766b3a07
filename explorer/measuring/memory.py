"""The memory that a method adds to the base model's, counted from the tensors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import torch
from pydantic import BaseModel as Schema
from pydantic import ConfigDict, computed_field

from explorer.kernels.llama_cache import LlamaCache
from explorer.measuring.cost_curve import filled_cache
from explorer.measuring.parameters import base_parameters, parameters_of
from explorer.models.storages import storages, tensors_of
from explorer.records.methods import find_method
from explorer.records.settings import DecodeSettings

if TYPE_CHECKING:
    from explorer.heads.heads import MedusaHeads
    from explorer.measuring.lab_protocol import LabProtocol
    from explorer.models.base import LanguageModel

CONTEXT = 256  # tokens in a draft model's KV cache when its memory is counted: it grows by these


class ExtraMemory(Schema):
    """Bytes in addition to the base model's. Tensors of the base model are not counted again.

    Weights count in every form that is held: heads keep the stored one beside that which a draft
    reads. `cache_bytes` is the method's own KV cache as allocated for `context_length` tokens.
    `share` is all of it over `base_bytes`, the base model's weights. `parameters`: of the method's
    heads, and of the base model; None where they are not known.
    """

    model_config = ConfigDict(frozen=True)

    weights_bytes: int
    cache_bytes: int
    context_length: int
    base_bytes: int
    parameters: int | None = None
    base_parameters: int | None = None

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
    cache_bytes, parameters = 0, None
    chosen = lab.heads_for(settings)
    if chosen is not None:
        own, parameters = storages(_tensors_of_heads(chosen.heads)), parameters_of(chosen.heads)
    elif find_method(settings.method, lab.heads).draft_model:
        draft = lab.draft_model(settings.draft_layers)
        own, cache_bytes = storages(_tensors(draft)), _cache_bytes(draft)
    return ExtraMemory(
        weights_bytes=sum(size for place, size in own.items() if place not in base),
        cache_bytes=cache_bytes,
        context_length=CONTEXT,
        base_bytes=sum(base.values()),
        parameters=parameters,
        base_parameters=base_parameters(lab.model) if parameters else None,
    )


def _tensors(model: LanguageModel) -> Iterable[torch.Tensor]:
    return [*tensors_of(model.network), model.lm_head.weight, model.lm_head.stored]


def _tensors_of_heads(heads: MedusaHeads) -> Iterable[torch.Tensor]:
    compiled = heads.compiled.matrices if heads.compiled else ()
    return [*tensors_of(heads), *(matrix.tiles for matrix in compiled)]


def _cache_bytes(model: LanguageModel) -> int:
    cache = filled_cache(model, min(CONTEXT, model.context_length))
    parts = [cache] if isinstance(cache, LlamaCache) else cache.layers
    return sum(part.keys.nbytes + part.values.nbytes for part in parts)
