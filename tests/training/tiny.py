"""A tiny random base model and synthetic text for the training tests."""

from __future__ import annotations

import contextlib
import gzip
import json
import random
from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM

VOCAB, WIDTH = 64, 32


class TinyBase:
    """What training needs of a base model, around a random two-layer Llama."""

    tokenizer = None
    name = "tiny"
    backend = "fp32"
    device = torch.device("cpu")
    vocab_size, hidden_size = VOCAB, WIDTH

    def __init__(self) -> None:
        torch.manual_seed(0)
        config = LlamaConfig(
            vocab_size=VOCAB,
            hidden_size=WIDTH,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
        )
        self.network = LlamaForCausalLM(config).eval()
        self.single_passes = 0

    @torch.inference_mode()
    def hidden_states(self, ids: torch.Tensor) -> torch.Tensor:
        self.single_passes += 1
        return self.network.model(input_ids=ids[None], use_cache=False).last_hidden_state[0]

    def body(self, **inputs):
        return self.network.model(**inputs).last_hidden_state

    def library_attention(self):
        return contextlib.nullcontext()

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        return self.network.lm_head(hidden).float()

    @property
    def lm_head(self) -> torch.nn.Linear:
        return self.network.lm_head

    @property
    def embeddings(self) -> torch.Tensor:
        return self.network.get_input_embeddings().weight

    def lm_head_weight(self) -> torch.Tensor:
        return self.network.lm_head.weight.detach()


def counting_text(conversations: int = 60, seed: int = 0) -> list[dict]:
    """A grammar that can be guessed ahead: every reply counts upwards, modulo 50."""
    rng = random.Random(seed)
    lines = []
    for number in range(conversations):
        start = rng.randrange(50)
        reply = [(start + i) % 50 for i in range(rng.randrange(10, 30))]
        lines.append({"prompt": [60, 50 + number % 10, (start - 1) % 50], "response": reply})
    return lines


def long_counting_text(conversations: int) -> list[dict]:
    """`counting_text` with 39 tokens more in each reply: replies of a class are not short."""
    lines = [line for line in counting_text(conversations) if len(line["response"]) >= 12]
    for line in lines:
        last = line["response"][-1]
        line["response"] = [*line["response"], *((last + i) % 50 for i in range(1, 40))]
    return lines


def branching_text(conversations: int = 60, seed: int = 0) -> list[dict]:
    """Threes that count upwards from a start that nothing foretells."""
    rng = random.Random(seed)
    lines = []
    for number in range(conversations):
        starts = [rng.randrange(50) for _ in range(8)]
        reply = [(start + i) % 50 for start in starts for i in range(3)]
        lines.append({"prompt": [60, 50 + number % 10, number % 50], "response": reply})
    return lines


def write_lines(path: Path, lines: list[dict]) -> Path:
    text = "".join(json.dumps(line) + "\n" for line in lines)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path
