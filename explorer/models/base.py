"""A loaded base model, and the one forward pass that everything is built from."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from explorer.kernels.attention import FIXED_ORDER
from explorer.kernels.lm_head import LMHead
from explorer.models.storages import storages, tensors_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase
    from transformers.cache_utils import Cache


@dataclass
class LanguageModel:
    """The base model on its device, in its backend.

    `notes` are calm lines for the user: which backend and why, what was checked at start-up.
    `bit_exact` says whether a token's logits were found to be the same bits in passes of
    different widths, on this machine, at start-up. `tuned`, where an adapter has changed the model
    (models/adapters.py), says what its output is lossless with respect to. `gguf` is the file that
    the weights were read from, where it is one of that format.
    """

    network: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    lm_head: LMHead
    name: str
    backend: str
    device: torch.device
    context_length: int
    eos_ids: frozenset[int]
    notes: list[str] = field(default_factory=list)
    bit_exact: bool = False
    tuned: str | None = None
    gguf: Path | None = None

    @property
    def config(self) -> Any:
        """The text model's configuration (transformers)."""
        return self.network.config.get_text_config()

    @property
    def vocab_size(self) -> int:
        """Rows of the LM head."""
        return self.lm_head.weight.shape[0]

    @property
    def hidden_size(self) -> int:
        """Width of a hidden state."""
        return self.lm_head.weight.shape[1]

    @property
    def fixed_order(self) -> bool:
        """Whether attention reduces in one fixed order (kernels/attention.py)."""
        return self.config._attn_implementation == FIXED_ORDER

    @torch.inference_mode()
    def forward(
        self, tokens: torch.Tensor, offsets: torch.Tensor, visible: torch.Tensor, cache: Cache
    ) -> torch.Tensor:
        """One pass over n rows behind the cache's committed prefix; returns hidden [n, H].

        tokens [n] int64; offsets [n] int64: a row's position is prefix length + offset;
        visible [n, n] bool: row i sees row j. Every row sees the whole prefix. The rows' keys
        and values are written to the cache, uncommitted.
        """
        positions = cache.length + offsets
        output = self.network.base_model(
            input_ids=tokens[None].to(self.device),
            position_ids=positions[None].to(self.device),
            attention_mask=self.mask(positions, visible, cache),
            cache=cache,
            use_cache=True,
        )
        return output.last_hidden_state[0]

    def mask(
        self, positions: torch.Tensor, visible: torch.Tensor, cache: Cache
    ) -> torch.Tensor | dict[str, torch.Tensor]:
        """What each kind of layer may see: [1, 1, n, slots] bool, by layer type where several.

        positions [n] and visible [n, n] as in `forward`.
        """
        n, prefix = visible.shape[0], cache.length
        full = torch.zeros(n, cache.slots_for(n), dtype=torch.bool)
        full[:, :prefix] = True
        full[:, prefix : prefix + n] = visible
        window = getattr(self.config, "sliding_window", None)
        kinds = set(getattr(self.config, "layer_types", None) or ())
        if window is None or kinds == {"full_attention"}:
            return self._for_device(full)
        keys = torch.zeros(full.shape[1], dtype=torch.int64)
        keys[:prefix] = torch.arange(prefix)
        keys[prefix : prefix + n] = positions
        sliding = full & (positions[:, None] - keys < window)
        if len(kinds) > 1:
            return {
                "full_attention": self._for_device(full),
                "sliding_attention": self._for_device(sliding),
            }
        return self._for_device(sliding)

    def _for_device(self, mask: torch.Tensor) -> torch.Tensor:
        mask = mask[None, None].to(self.device)
        if self.config._attn_implementation != "eager":
            return mask
        dtype = self.network.dtype  # eager attention adds its mask
        return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(
            ~mask, torch.finfo(dtype).min
        )

    @torch.inference_mode()
    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """hidden [n, H] → logits [n, V] float32 on the LM head's device."""
        return self.lm_head(hidden)

    @torch.inference_mode()
    def hidden_states(self, tokens: torch.Tensor) -> torch.Tensor:
        """Final-normed hidden states [T, H] of one sequence of token ids [T], without a cache."""
        with self.library_attention():
            output = self.network.base_model(input_ids=tokens[None].to(self.device))
        return output.last_hidden_state[0]

    @property
    def embeddings(self) -> torch.Tensor:
        """The input embeddings [V, H], in the model's dtype."""
        return self.network.get_input_embeddings().weight

    def lm_head_weight(self) -> torch.Tensor:
        """The LM head's matrix [V, H], float32."""
        return self.lm_head.weight.float()

    @contextlib.contextmanager
    def attention(self, name: str) -> Iterator[None]:
        """Within it the network's attention is the one registered under `name`."""
        ours = self.config._attn_implementation
        self.network.set_attn_implementation(name)
        try:
            yield
        finally:
            self.network.set_attn_implementation(ours)

    def library_attention(self) -> AbstractContextManager[None]:
        """Within it the network runs with transformers' own attention and caches."""
        return self.attention("sdpa" if self.fixed_order else self.config._attn_implementation)

    def step_bytes(self, context_length: int) -> int:
        """Bytes that a one-row pass reads behind `context_length` tokens, LM head included.

        Every matrix as it is stored, once, and keys and values of the context. Of the embedding it
        reads one row, which does not count. A mixture of experts counts as if all were asked.
        """
        embedding = self.network.get_input_embeddings()
        looked_up = {id(tensor) for tensor in tensors_of(embedding)}
        read = [tensor for tensor in tensors_of(self.network) if id(tensor) not in looked_up]
        weights = storages([*read, self.lm_head.weight])
        return sum(weights.values()) + context_length * self._cache_bytes_per_token

    @property
    def _cache_bytes_per_token(self) -> int:
        """Of keys and values in all layers; fixed-order attention keeps them in float32."""
        config = self.config
        size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
        width = 4 if self.fixed_order else self.network.dtype.itemsize
        return 2 * config.num_hidden_layers * heads * size * width

    def synchronise(self) -> None:
        """Wait for the device, so that a clock read afterwards is true."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
