"""A tiny network of the same architecture, to test the product's passes before weights are read.

It keeps what is special about the architecture: kinds of layers, windows, rotary scaling, scales of
the logits. Sizes shrink to a few dozen, and limits that a text reaches after thousands of tokens
(attention windows, rotary factors that switch) shrink to a handful.
"""

from __future__ import annotations

import copy
import re
from typing import Any

import torch
import transformers
from transformers import AutoModelForCausalLM, PretrainedConfig, PreTrainedModel
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

VOCAB = 96
WINDOW = 7  # tokens of an attention window
BORDER = 32  # position at which rotary factors switch
LENGTH = 512  # positions
_MAX_LAYERS = 8
_SPREAD = 0.3  # standard deviation of the matrices: enough for clear argmaxes

# A field gets the size of the first pattern that matches its whole name.
_SIZES: list[tuple[str, int]] = [
    (r"(unpadded_)?vocab_size(_per_layer_input)?|n_vocab", VOCAB),
    (r"num_attention_heads|n_heads?|num_heads|(en|de)coder_attention_heads", 4),
    (r"swa_num_attention_heads|index_n_heads|linear_num(_\w+)?_heads", 4),
    (r"hidden_size|d_model|n_embd|dim|model_dim|d_embed", 64),
    (r"attention_hidden_size", 64),
    (r"(swa_|global_|index_)?head_dim|attention_head_dim|kv_channels|dim_head|d_kv|d_head", 16),
    (r"v_head_dim|linear_\w*head_dim", 16),
    (r"qk_head_dim", 16),
    (r"qk_(rope|nope)_head_dim|rotary_dim|rotary_ndims|d_rel", 8),
    (r"(q|kv|o)_lora_rank|gated_norm_rank|laurel_rank|hc_lowrank", 16),
    (r"hidden_size_per_layer_input|ple_embed_dim|embedding_size", 16),
    (r"word_embed_proj_dim", 64),
    (r"\w*intermediate_size(_mlp)?|n_inner|\w*ffn_(dim|hidden_size)|dim_ff|dff", 64),
    (r"num_experts|num_local_experts|n_routed_experts|moe_num_experts|zero_expert_num", 4),
    (r"num_experts_per_tok(en)?|moe_(topk|k)|top_k_experts|num_selected_experts", 2),
    (r"n_groups?|topk_group|num_expert_group|o_groups", 1),
    (r"n_shared_experts|num_shared_experts|moe_num_shared_experts", 1),
    (r"\w*sliding_window(_size)?|(keep_|attention_)?window_size", WINDOW),
    (r"local_attention(_window_len)?", WINDOW),
    (r"attention_chunk_size|index_topk|index_block_size", 8),
    (r"max_position_embeddings|n_positions|n_ctx|max_seq_len|max_sequence_length|max_source_positions"
     r"|max_target_positions|model_max_length|max_seq_length", LENGTH),
    (r"original_max_position_embeddings", BORDER),
    (r"query_pre_attn_scalar", 16),
    (r"dim_model_base", 16),
    (r"num_kv_shared_layers|num_nextn_predict_layers", 0),
    (r"first_k_dense_replace|num_dense_layers", 1),
    (r"mamba_(n_heads|num_heads)|mamba_num_heads|n_mamba_heads", 8),
    (r"mamba_d_(head|state)|mamba_head_dim|ssm_state_size|state_size", 16),
]  # fmt: skip
_KV_HEADS = re.compile(r"(\w+_)?num_key_value_heads|num_kv_heads|n_head_kv|swa_num_key_value_heads")
_LAYERS = (
    "num_hidden_layers",
    "n_layer",
    "n_layers",
    "num_layers",
    "decoder_layers",
    "encoder_layers",
)
_KINDS = ("layer_types", "layers_block_type", "block_types", "attention_layers")


def miniature(config: PretrainedConfig) -> PretrainedConfig:
    """The text configuration of a tiny network of the same kind. Raises as its class does."""
    config = copy.deepcopy(config.get_text_config())
    given = config.to_dict()
    layers = _layers(config)
    small = {name: _shrunk(name, value, given) for name, value in given.items()}
    for name in _LAYERS:
        if isinstance(small.get(name), int):
            small[name] = layers
    deep = config.num_hidden_layers
    for name, value in small.items():
        if isinstance(value, list) and len(value) == deep and deep > 2:
            small[name] = value[:layers]
    if "num_layers_per_stack" in small:  # the layers of its loops follow from this number
        small |= {"num_layers_per_stack": None, "num_hidden_layers": 2}
    if isinstance(small.get("per_layer_config"), dict):
        own = small["per_layer_config"].items()
        small["per_layer_config"] = {layer: each for layer, each in own if int(layer) < layers}
    for name in ("model_type", "architectures", "quantization_config", "dtype", "_name_or_path"):
        small.pop(name, None)
    for name in [n for n in small if n.endswith("_token_id")]:
        small[name] = _token(small[name])
    if "qk_rope_head_dim" in small and given.get("head_dim") == given["qk_rope_head_dim"]:
        small["head_dim"] = small["qk_rope_head_dim"]
    small["rope_parameters"] = _rope(small.get("rope_parameters"), config)
    if small["rope_parameters"] is None:
        del small["rope_parameters"]
    return type(config)(**small)


def tiny_network(config: PretrainedConfig, seed: int = 0) -> PreTrainedModel:
    """A random float32 network of a miniature configuration."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = _empty(copy.deepcopy(config))
        network.eval().requires_grad_(False)
        for parameter in network.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0, _SPREAD)
            elif not torch.isfinite(parameter).all() or parameter.abs().max() > 1e3:
                parameter.normal_(1, 0.1)  # left empty by its class
    return network


def _empty(config: PretrainedConfig) -> PreTrainedModel:
    """A network of the configuration; of a text configuration, the text part's own class."""
    if type(config) in AutoModelForCausalLM._model_mapping:
        return AutoModelForCausalLM.from_config(
            config, dtype=torch.float32, trust_remote_code=False
        )
    # the class belongs to the whole model's type there: emu3 for emu3_text_model
    whole = config.model_type.partition("_text")[0]
    name = MODEL_FOR_CAUSAL_LM_MAPPING_NAMES[whole]
    return getattr(transformers, name)._from_config(config, dtype=torch.float32)


def _layers(config: PretrainedConfig) -> int:
    """The number of first layers that includes every kind of layer: 3 to 8."""
    deep = config.num_hidden_layers
    for name in _KINDS:
        kinds = getattr(config, name, None)
        if isinstance(kinds, list) and kinds:
            needed = 1 + max(kinds.index(kind) for kind in set(map(str, kinds)) & set(kinds))
            return min(deep, max(3, needed), _MAX_LAYERS)
    return min(deep, 3)


def _shrunk(name: str, value: Any, given: dict[str, Any]) -> Any:
    if name == "per_layer_config" and isinstance(value, dict):
        return {
            layer: {key: _shrunk(key, each, given) for key, each in own.items()}
            for layer, own in value.items()
        }
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return value
    if _KV_HEADS.fullmatch(name):
        return 4 if value == given.get("num_attention_heads") else min(value, 2)
    for pattern, size in _SIZES:
        if re.fullmatch(pattern, name):
            return min(value, size) if value else value
    return value


def _token(value: Any) -> Any:
    """Ids of special tokens that fit the vocabulary."""
    if isinstance(value, list):
        return [_token(each) for each in value]
    return value if not isinstance(value, int) or value < VOCAB else value % VOCAB


def _rope(given: Any, config: PretrainedConfig) -> Any:
    """Rotary settings for heads of size 16: short lists of factors, short limits."""
    if not isinstance(given, dict):
        return given
    out = {}
    for name, value in given.items():
        if isinstance(value, dict):
            out[name] = _rope(value, config)
        elif name in ("short_factor", "long_factor") and isinstance(value, list):
            share = given.get("partial_rotary_factor") or getattr(
                config, "partial_rotary_factor", 1
            )
            out[name] = value[: int(16 * (share or 1)) // 2]
        elif name == "mrope_section":
            out[name] = [4, 2, 2][: len(value)]
        elif name == "original_max_position_embeddings":
            out[name] = BORDER
        else:
            out[name] = value
    return out
