"""Sizes of well-known models, for calculators."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Llm:
    """What memory and speed depend on. `source` is a citation or where the config lies."""

    name: str
    parameters: float
    layers: int
    width: int
    kv_heads: int
    head_size: int
    source: str


LLAMA_3 = "Llama team 2024, table 3"
LLMS = (
    Llm("Llama 3 70B", 70.6e9, 80, 8192, 8, 128, LLAMA_3),
    Llm("Llama 3 8B", 8.03e9, 32, 4096, 8, 128, LLAMA_3),
    Llm("Llama 3.2 1B", 1.24e9, 16, 2048, 8, 64, "its config.json"),
    Llm("Vicuna 7B", 6.74e9, 32, 4096, 32, 128, "its config.json"),
    Llm("SmolLM2 135M", 134_515_008, 30, 576, 3, 64, "its config.json"),
)


def llm(name: str) -> Llm:
    """The model with this name."""
    return next(each for each in LLMS if each.name == name)
