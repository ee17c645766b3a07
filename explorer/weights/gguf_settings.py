"""The settings of a GGUF file that transformers does not read.

transformers takes most sizes; gguf_sizes.py and gguf_ends.py put right the rest. Rotary scaling and
factors, windows and caps are read here. Any other setting with an effect is refused by its name,
because a model that runs without it would be silently wrong. Key names: the GGUF specification,
llama.cpp's llama-arch.cpp; what an absent key means is llama.cpp's default.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from transformers import PretrainedConfig
from transformers.integrations.ggml import GGUF_CONFIG_MAPPING
from transformers.integrations.gguf.gguf_config_mapping import GGUF_CONFIG_ARCHS

from explorer.records.errors import ExplorerError
from explorer.weights.gguf_ends import complete_ends, require_known_ids
from explorer.weights.gguf_keys import Keys
from explorer.weights.gguf_sizes import complete_sizes, head_size, require_sizes

# Sizes that follow from other settings, and what a text model does not need.
HARMLESS = {
    "context_length", "embedding_length", "block_count", "feed_forward_length", "vocab_size",
    "tensor_data_layout", "rope.scaling.finetuned", "rope.scaling.original_context_length",
}  # fmt: skip
SCALING = "rope.scaling."
YARN = {
    "rope.scaling.yarn_beta_fast": "beta_fast",
    "rope.scaling.yarn_beta_slow": "beta_slow",
    "rope.scaling.yarn_ext_factor": None,
    "rope.scaling.yarn_attn_factor": None,
}
EXPERTS = {
    "expert_feed_forward_length": ("moe_intermediate_size", "intermediate_size"),
    "expert_shared_feed_forward_length": ("shared_expert_intermediate_size",),
}
CAPS = {
    "attn_logit_softcapping": "attn_logit_softcapping",
    "final_logit_softcapping": "final_logit_softcapping",
}
PARTIAL_ROTARY = {"phi3", "stablelm", "nemotron"}  # whose classes rotate a part of each head
FACTORS = ("rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight")


class Settings(Keys):
    """The settings of one file; each one that is read counts as used.

    `factors` are the file's tensors of rotary factors by name (FACTORS), each [rotary size / 2].
    """

    def __init__(
        self, path: Path, metadata: dict[str, Any], factors: dict[str, np.ndarray]
    ) -> None:
        super().__init__(path, metadata, HARMLESS)
        self.factors = factors

    def complete(self, config: PretrainedConfig) -> None:
        """Add to `config` what transformers did not read. Raises ExplorerError that names a key."""
        mapped = GGUF_CONFIG_MAPPING.get(config.model_type.removesuffix("_text"), {})
        self.used |= {key for key, name in mapped.items() if name is not None}
        if self.architecture not in GGUF_CONFIG_ARCHS:  # these are read key by key
            complete_sizes(self, config)
        self._head_size(config)
        self._rotary(config)
        self._window(config)
        self._caps(config)
        self._experts(config)
        if self.get("attention.causal", True) is False:
            raise self.refusal("attention.causal")
        parallel = getattr(config, "use_parallel_residual", None)
        if parallel is not None and self.get("use_parallel_residual", parallel) != parallel:
            raise self.refusal("use_parallel_residual")
        complete_ends(self.metadata, config)
        if self.architecture not in GGUF_CONFIG_ARCHS:
            self._refuse_the_rest()

    def require_readable(self) -> None:
        """Raise ExplorerError for sizes and token ids that no network can have."""
        if self.architecture not in GGUF_CONFIG_ARCHS:
            require_sizes(self)
        require_known_ids(self.metadata, self.path.name)

    def _head_size(self, config: PretrainedConfig) -> None:
        size = head_size(config)
        for key in ("attention.key_length", "attention.value_length"):
            if self.get(key, size) != size:
                raise self.refusal(key)
        turned = self.get("rope.dimension_count", size)
        partial = self.architecture in PARTIAL_ROTARY
        if turned != size and (not partial or not 0 < turned < size):
            raise self.refusal("rope.dimension_count")
        if partial:  # also where all of a head turns: these classes turn a part by default
            config.rope_parameters["partial_rotary_factor"] = turned / size

    def _rotary(self, config: PretrainedConfig) -> None:
        factor = self.get("rope.scaling.factor") or self.get("rope.scale_linear")  # its older name
        kind = self.get("rope.scaling.type", "linear" if factor else "none")
        if self.factors:
            if kind == "linear" and factor not in (None, 1):
                raise self.refusal("rope.scaling.factor")
            self._put_rotary(config, self._listed_factors(config))
        elif kind == "linear":
            if factor is None:
                factor = self._number("rope.scaling.factor")
            self._put_rotary(config, {"rope_type": "linear", "factor": float(factor)})
        elif kind == "yarn":
            self._put_rotary(config, self._yarn())
        elif kind != "none":
            raise self.refusal("rope.scaling.type")
        elif getattr(config, "rope_parameters", None):
            self._put_rotary(config, {"rope_type": "default"})  # some classes scale by default

    def _listed_factors(self, config: PretrainedConfig) -> dict[str, Any]:
        """Factors by frequency, as LongRoPE has them: one list (Llama 3), or a long and a short."""
        one = self.factors.get("rope_freqs.weight")
        short = self.factors.get("rope_factors_short.weight", one)
        long = self.factors.get("rope_factors_long.weight", one)
        if short is None or long is None:
            raise ExplorerError(
                f"{self.path.name} holds one list of rotary factors and lacks the other "
                f"({', '.join(self.factors)}): download the file again, or choose another."
            )
        whole = config.max_position_embeddings
        border = whole if one is not None else self._original_length()
        out = {
            "rope_type": "longrope",
            "short_factor": short.tolist(),
            "long_factor": long.tolist(),
            "original_max_position_embeddings": border,
        }
        attention = self.get("rope.scaling.attn_factor")
        if attention or one is not None:
            out["attention_factor"] = float(attention or 1.0)
        else:
            out["factor"] = whole / border
        return out

    def _yarn(self) -> dict[str, Any]:
        out = {
            "rope_type": "yarn",
            "factor": float(self._number("rope.scaling.factor")),
            "original_max_position_embeddings": self._original_length(),
        }
        for key, name in YARN.items():
            value = self.get(key)
            if value is not None and name is None and value not in (0.0, 1.0):
                raise self.refusal(key)
            if value is not None and name is not None:
                out[name] = float(value)
        if own := self.get("rope.scaling.attn_factor"):  # llama.cpp multiplies YaRN's by it
            out["attention_factor"] = (1 + 0.1 * math.log(out["factor"])) * float(own)
        return out

    def _original_length(self) -> int:
        return int(self._number("rope.scaling.original_context_length"))

    def _number(self, key: str) -> float:
        value = self.get(key)
        if not isinstance(value, int | float) or value <= 0:
            raise ExplorerError(
                f"{self.path.name} scales its rotary positions but does not say by how much "
                f"('{self.architecture}.{key}'): choose another file."
            )
        return value

    def _put_rotary(self, config: PretrainedConfig, scaling: dict[str, Any]) -> None:
        parameters = config.rope_parameters
        if "full_attention" in parameters:  # Gemma 3 scales only its global layers
            parameters = parameters["full_attention"]
        parameters.update(scaling)
        if hasattr(config, "original_max_position_embeddings"):  # Phi-3 names this length twice
            border = scaling.get("original_max_position_embeddings")
            config.original_max_position_embeddings = border or config.max_position_embeddings

    def _window(self, config: PretrainedConfig) -> None:
        window = self.get("attention.sliding_window")
        if config.model_type == "mistral":  # its class has a window by default
            config.sliding_window = window or None
            return
        if not window or window >= config.max_position_embeddings:
            return
        if getattr(config, "sliding_window", None) == window:
            return
        if config.model_type not in ("phi3", "mistral", "gpt_oss", "starcoder2"):
            raise self.refusal("attention.sliding_window")
        config.sliding_window = window

    def _caps(self, config: PretrainedConfig) -> None:
        for key, name in CAPS.items():
            value = self.get(key)
            if not value:
                continue
            if not hasattr(config, name):
                raise self.refusal(key)
            setattr(config, name, value)

    def _experts(self, config: PretrainedConfig) -> None:
        for key, names in EXPERTS.items():
            size = self.get(key)
            if not size:
                continue
            name = next((name for name in names if hasattr(config, name)), None)
            if name is None:
                raise self.refusal(key)
            setattr(config, name, size)

    def _refuse_the_rest(self) -> None:
        prefix = f"{self.architecture}."
        for key, value in self.metadata.items():
            short = key.removeprefix(prefix)
            if key.startswith(prefix) and short not in self.used and _means_something(value):
                raise self.refusal(short)


def _means_something(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_means_something, value))
    return value not in (0, 0.0, False, "", "none", None)
