"""The memory of a GPU that a model in NF4 needs, from its configuration alone: an estimate.

Nothing is loaded: the network is laid out without weights. What is measured instead, where a model
runs, is in measuring/peak_memory.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn
from transformers import AutoModelForCausalLM, PretrainedConfig

from explorer.heads.heads_config import HeadsConfig
from explorer.heads.hydra import new_heads
from explorer.kernels.nf4 import COLUMNS, ROWS
from explorer.models.static_pass import WIDEST

# 4 bits, one byte for each 64 weights, and a float32 for each 256 of these bytes.
NF4_BYTES = 0.5 + 1 / 64 + 4 / (64 * 256)
LANES = 2  # a race has two texts, each with its keys and values
LOGITS = 4 + 4 + 8 + 8  # bytes of a token's logit, its copy, and its chance in float64, summed up


@dataclass(frozen=True)
class MemoryNeed:
    """Bytes of the base model's weights, of the heads, of all KV caches, and of passes."""

    weights: int
    heads: int
    caches: int
    working: int

    @property
    def total(self) -> int:
        """The sum."""
        return self.weights + self.heads + self.caches + self.working


def memory_need(
    config: PretrainedConfig, context_length: int, heads: HeadsConfig | None = None
) -> MemoryNeed:
    """The need of a race over texts of `context_length` tokens, heads in 16 bits."""
    with torch.device("meta"):
        network = AutoModelForCausalLM.from_config(config)
        made = new_heads(heads) if heads else nn.Module()
    output = network.get_output_embeddings()
    inner = [m for m in network.modules() if isinstance(m, nn.Linear) and m is not output]
    packed = [m for m in inner if not (m.in_features % COLUMNS or m.out_features % ROWS)]
    in_four_bits = sum(m.weight.numel() for m in packed)
    in_sixteen = sum(p.numel() for p in network.parameters()) - in_four_bits
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    states = 2 * config.num_hidden_layers * config.num_key_value_heads * size
    widest = max((m.weight.numel() for m in packed), default=0)
    return MemoryNeed(
        weights=round(NF4_BYTES * in_four_bits) + 2 * in_sixteen,
        heads=2 * sum(p.numel() for p in made.parameters()),
        caches=2 * LANES * (context_length + WIDEST) * states,
        # A wide pass may unpack one matrix at a time.
        working=2 * widest + LOGITS * WIDEST * config.vocab_size,
    )
