"""Refuses architectures by their configuration alone, before any weight is read."""

from __future__ import annotations

from transformers import AutoModelForCausalLM, PretrainedConfig, PreTrainedModel

from explorer.records.errors import ExplorerError

ATTENTION = {"full_attention", "sliding_attention", "chunked_attention", "attention"}
KINDS = ("layer_types", "layers_block_type", "block_types")


def refuse_unsupported(model: PretrainedConfig | PreTrainedModel, name: str) -> None:
    """Raise ExplorerError for layers that keep a running state, or have special attention.

    The rows of a rejected draft stay in such a state and cannot be removed.
    """
    config = model if isinstance(model, PretrainedConfig) else model.config
    network = type(model) if isinstance(model, PreTrainedModel) else _class_of(config)
    text = config.get_text_config()
    strange = sorted(
        {str(kind) for field in KINDS for kind in getattr(text, field, None) or ()} - ATTENTION
    )
    if strange or getattr(network, "_is_stateful", False):
        what = f" ({', '.join(strange)})" if strange else ""
        raise ExplorerError(
            f"The architecture of {name} ({text.model_type}) is not supported: it has layers that "
            f"keep a running state or pick what they attend to{what}, and the rows of a rejected "
            "draft cannot be taken out of them; choose a model with plain attention layers."
        )


def _class_of(config: PretrainedConfig) -> type | None:
    mapping = AutoModelForCausalLM._model_mapping
    return mapping[type(config)] if type(config) in mapping else None  # noqa: SIM401 - it has no get that loads
