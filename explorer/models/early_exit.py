"""The draft model if none was trained: the first layers of the base model itself."""

from __future__ import annotations

import contextlib
import copy

from torch import nn

from explorer.models.base import LanguageModel
from explorer.models.draft import DEFAULT_DRAFT, load_draft
from explorer.models.llama_pass import llama_pass
from explorer.records.errors import ExplorerError

DEFAULT_SHARE = 5  # without a trained draft model, the first num_layers // 5 layers draft


def require_same_tokenizer(model: LanguageModel, draft: LanguageModel) -> None:
    """Raise ExplorerError unless both models mean the same text by the same token ids."""
    if draft.tokenizer is model.tokenizer:
        return
    if draft.tokenizer.get_vocab() != model.tokenizer.get_vocab():
        raise ExplorerError(
            f"The draft model {draft.name} has another tokenizer than {model.name}, so its guesses "
            "would mean other text: choose a draft model of the same family."
        )


def default_draft(model: LanguageModel) -> LanguageModel:
    """The trained draft that ships, if it fits this model; else a fifth of the model's layers."""
    if DEFAULT_DRAFT.is_dir():
        with contextlib.suppress(ExplorerError):  # it was made for another base model
            return load_draft(DEFAULT_DRAFT, model)
    return early_exit(model, max(1, model.config.num_hidden_layers // DEFAULT_SHARE))


def early_exit(model: LanguageModel, layers: int) -> LanguageModel:
    """A draft model of the base model's first layers, its final norm and its LM head.

    All weights are the base model's own, by reference. Raises ExplorerError if it has no such
    number of layers.
    """
    most = model.config.num_hidden_layers
    if not 1 <= layers <= most:
        raise ExplorerError(
            f"A draft of {layers} layers cannot be cut from {model.name}: it has {most}."
        )
    network = _shallow(model.network)
    body = _shallow(model.network.base_model)
    network._modules[model.network.base_model_prefix] = body
    body._modules["layers"] = nn.ModuleList(list(body.layers)[:layers])
    network.config = body.config = copy.deepcopy(model.config)
    body.config.num_hidden_layers = layers
    if getattr(body.config, "layer_types", None):
        body.config.layer_types = body.config.layer_types[:layers]
    draft = LanguageModel(
        network=network,
        compiled=llama_pass(network) if model.compiled else None,
        tokenizer=model.tokenizer,
        lm_head=model.lm_head,
        name=f"{model.name}, first {layers} of {most} layers",
        backend=model.backend,
        device=model.device,
        context_length=model.context_length,
        eos_ids=model.eos_ids,
        bit_exact=model.bit_exact,
        whole_network=model.whole_network,
    )
    draft.static = model.static.like(draft) if model.static else None
    return draft


def _shallow(module: nn.Module) -> nn.Module:
    """A copy that shares its children and parameters but may get others."""
    twin = copy.copy(module)
    twin._modules = dict(module._modules)
    return twin
