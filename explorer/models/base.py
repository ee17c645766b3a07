"""A loaded base model, and the forward pass that everything else uses."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from explorer.kernels.attention import FIXED_ORDER
from explorer.kernels.layout import Layout
from explorer.kernels.llama_cache import LlamaCache
from explorer.kernels.lm_head import LMHead
from explorer.models.clock import EventStopwatch, HostStopwatch, Stopwatch
from explorer.models.head_input import lm_head_input
from explorer.models.static_cache import StaticCache
from explorer.models.storages import storages, tensors_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase
    from transformers.cache_utils import Cache

    from explorer.models.llama_pass import LlamaPass
    from explorer.models.static_pass import StaticPass


@dataclass
class LanguageModel:
    """The base model on its device, in its backend.

    `notes` are lines for the user: which backend and why, what was checked at start-up.
    `bit_exact` says whether the start-up check found a token's logits to be the same bits in
    passes of different widths on this machine. `compiled`, where there is one, runs passes over
    a LlamaCache in the network's place; `static`, where there is one, runs the network over a
    StaticCache in passes of few shapes, which a GPU replays as graphs. `tuned`, where an adapter
    has changed the model (models/adapters.py), says what its output is lossless with respect to.
    `whole_network` says that something stands between the network's body and its LM head, so a
    pass runs up to the head.
    `gguf` is the file that the weights were read from, where it is one of that format.
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
    compiled: LlamaPass | None = None
    static: StaticPass | None = None
    whole_network: bool = False
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
        self,
        tokens: torch.Tensor,
        offsets: torch.Tensor,
        mask: torch.Tensor,
        cache: Cache | LlamaCache | StaticCache,
    ) -> torch.Tensor:
        """One pass over n rows after the cache's committed prefix; returns hidden [n, H].

        tokens [n] int64; offsets [n] int64: a row's position is prefix length + offset;
        mask [n, n] bool: row i sees row j. Every row sees the whole prefix. The rows' keys
        and values are written to the cache, uncommitted.
        """
        if isinstance(cache, LlamaCache):
            return self.compiled(tokens, offsets, mask, cache)
        if isinstance(cache, StaticCache):
            return self.static(tokens, offsets, mask, cache)
        layout = Layout.of_tree(cache.length, offsets, mask, cache.slots_for(len(offsets)))
        return self.run(tokens[None], layout, cache)[0]

    def run(self, tokens: torch.Tensor, layout: Layout, cache: Cache) -> torch.Tensor:
        """Hidden states [b, n, H] of tokens [b, n]; `layout` places rows and cached keys."""
        with layout.in_force():
            return self.body(
                input_ids=tokens.to(self.device),
                position_ids=layout.positions.to(self.device),
                cache=cache,
                use_cache=True,
            )

    def body(self, **inputs: Any) -> torch.Tensor:
        """The input of the LM head [b, n, H]: the hidden states."""
        if self.whole_network:
            return lm_head_input(self.network, **inputs)
        return self.network.base_model(**inputs).last_hidden_state

    @torch.inference_mode()
    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """hidden [n, H] → logits [n, V] float32 on the LM head's device."""
        return self.static.logits(hidden) if self.static else self.lm_head(hidden)

    @torch.inference_mode()
    def hidden_states(self, tokens: torch.Tensor) -> torch.Tensor:
        """Final-normed hidden states [T, H] of one sequence of token ids [T], without a cache."""
        with self.library_attention():
            return self.body(input_ids=tokens[None].to(self.device))[0]

    @property
    def embeddings(self) -> torch.Tensor:
        """The input embeddings [V, H], in the model's dtype."""
        return self.network.get_input_embeddings().weight

    def lm_head_weight(self) -> torch.Tensor:
        """The LM head's matrix [V, H], float32."""
        return self.lm_head.weight.float()

    @contextlib.contextmanager
    def attention(self, name: str) -> Iterator[None]:
        """Inside this context the network uses the attention registered under `name`."""
        ours = self.config._attn_implementation
        self.network.set_attn_implementation(name)
        try:
            yield
        finally:
            self.network.set_attn_implementation(ours)

    def library_attention(self) -> AbstractContextManager[None]:
        """Inside this context the network uses transformers' own attention and caches."""
        return self.attention("sdpa" if self.fixed_order else self.config._attn_implementation)

    def step_bytes(self, context_length: int) -> int:
        """Bytes that a one-row pass reads after `context_length` tokens, LM head included.

        Every matrix as it is stored, once, and keys and values of the context. Of the embedding it
        reads one row, which does not count. A mixture of experts counts as if all were asked.
        """
        ends = self.network.get_input_embeddings(), self.network.get_output_embeddings()
        apart = {id(tensor) for end in ends for tensor in tensors_of(end)}
        read = [tensor for tensor in tensors_of(self.network) if id(tensor) not in apart]
        weights = storages([*read, self.lm_head.stored])
        return sum(weights.values()) + context_length * self._cache_bytes_per_token

    def row_operations(self) -> int:
        """Floating-point operations of one row of a pass: two for each weight it multiplies by.

        Counted from the layers' matrices and the LM head; a mixture of experts counts as if all
        were asked.
        """
        output = self.network.get_output_embeddings()
        sizes = (
            getattr(module, "in_features", 0) * getattr(module, "out_features", 0)
            for module in self.network.modules()
            if module is not output
        )
        return 2 * (sum(sizes) + self.vocab_size * self.hidden_size)

    @property
    def _cache_bytes_per_token(self) -> int:
        """Of keys and values in all layers: fp16 in the compiled pass, float32 in fixed order."""
        config = self.config
        size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
        width = 4 if self.fixed_order else self.network.dtype.itemsize
        width = 2 if self.compiled else width
        return 2 * config.num_hidden_layers * heads * size * width

    def synchronise(self) -> None:
        """Wait for the device, so that a clock read afterwards is right."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def stopwatch(self) -> Stopwatch:
        """A clock for the parts of a step, started: a GPU's own, which is read afterwards."""
        recordings = self.static.recordings if self.static else None
        if self.device.type == "cuda":
            return EventStopwatch(self.device, recordings)
        return HostStopwatch(recordings)
