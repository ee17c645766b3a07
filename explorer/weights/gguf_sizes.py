"""Sizes of a GGUF's network, where transformers reads them under another name or not at all.

It keeps its classes' defaults for a key that it does not map, or that a file leaves out. What an
absent key means is llama.cpp's default (llama-model.cpp).
"""

from __future__ import annotations

import math

from transformers import PretrainedConfig

from explorer.records.errors import ExplorerError
from explorer.weights.gguf_keys import Keys

COUNTS = (
    "context_length", "embedding_length", "block_count", "feed_forward_length",
    "attention.head_count", "attention.head_count_kv",
)  # fmt: skip
RMS, LAYER = "attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon"
RMS_FIELD = "rms_norm_eps"
LAYER_FIELDS = ("layer_norm_eps", "layer_norm_epsilon", "norm_eps", "norm_epsilon")
FREQUENCY = "rope.freq_base"
HEAD_SIZE = {"llama", "mistral", "qwen2", "phi3"}  # whose classes use a head_dim
LAYERED = {"gemma4"}  # whose files have a list of sizes, one for each layer
# Gemma's largest models, by their layers, divide scores by √(hidden size / heads); others by
# √(head size).
LARGE_GEMMA = {"gemma2": 46, "gemma3_text": 62}


def require_sizes(settings: Keys) -> None:
    """Raise ExplorerError, naming the key, for a size that no network can have."""
    for key in COUNTS:
        value = settings.get(key)
        if value is None or (settings.architecture in LAYERED and isinstance(value, list)):
            continue
        if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 1 << 24:
            raise settings.refusal(key)
    for key in (FREQUENCY, RMS, LAYER):
        value = settings.get(key)
        if value is not None and not (isinstance(value, int | float) and 0 < value < math.inf):
            raise settings.refusal(key)
    used = settings.metadata.get(f"{settings.architecture}.expert_used_count", 0)
    if used > settings.metadata.get(f"{settings.architecture}.expert_count", used):
        raise settings.refusal("expert_used_count")


def complete_sizes(settings: Keys, config: PretrainedConfig) -> None:
    """Put the file's sizes into `config`. Raises ExplorerError that names a key."""
    if length := settings.get("context_length"):
        config.max_position_embeddings = length
    _heads(settings, config)
    _epsilon(settings, config)
    _frequencies(settings, config)
    if hasattr(config, "query_pre_attn_scalar"):
        large = config.num_hidden_layers == LARGE_GEMMA.get(config.model_type)
        per_head = config.hidden_size // config.num_attention_heads
        config.query_pre_attn_scalar = per_head if large else head_size(config)


def head_size(config: PretrainedConfig) -> int:
    """Features of one attention head."""
    size = getattr(config, "head_dim", None)
    return size or config.hidden_size // config.num_attention_heads


def _heads(settings: Keys, config: PretrainedConfig) -> None:
    heads = settings.get("attention.head_count")
    groups = settings.get("attention.head_count_kv", heads)
    if not isinstance(heads, int) or not isinstance(groups, int):
        return
    if config.hidden_size % heads and settings.get("attention.key_length") is None:
        raise settings.refusal("attention.head_count")
    if heads % groups or (config.model_type == "falcon" and groups > 1):  # Falcon 40B's own order
        raise settings.refusal("attention.head_count_kv")
    config.num_attention_heads = heads
    if hasattr(config, "num_key_value_heads"):
        config.num_key_value_heads = groups
    if config.model_type in HEAD_SIZE or "head_dim" in config.to_dict():
        config.head_dim = settings.get("attention.key_length") or config.hidden_size // heads


def _epsilon(settings: Keys, config: PretrainedConfig) -> None:
    rms = hasattr(config, RMS_FIELD)
    fields = (RMS_FIELD,) if rms else LAYER_FIELDS
    value = settings.get(RMS) if rms else settings.get(LAYER, settings.get(RMS))
    name = next((name for name in fields if hasattr(config, name)), None)
    if name is None:
        return
    if value is None:
        raise ExplorerError(
            f"{settings.path.name} lacks '{settings.architecture}.{RMS if rms else LAYER}', and "
            "without it every answer would be wrong: choose another file of the model."
        )
    setattr(config, name, value)


def _frequencies(settings: Keys, config: PretrainedConfig) -> None:
    parameters = getattr(config, "rope_parameters", None)
    if not isinstance(parameters, dict):
        return
    base, windowed = settings.get(FREQUENCY), settings.get(f"{FREQUENCY}_swa")
    if "full_attention" not in parameters:
        if windowed not in (None, base):
            raise settings.refusal(f"{FREQUENCY}_swa")
        parameters["rope_theta"] = float(base or 10000.0)
        return
    for kind, value in (("full_attention", base), ("sliding_attention", windowed)):
        if value:
            parameters[kind]["rope_theta"] = float(value)
