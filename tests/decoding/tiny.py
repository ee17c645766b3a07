"""Tiny random models of several architectures, wrapped as base models; and random heads."""

from __future__ import annotations

import torch
from transformers import (
    AutoModelForCausalLM,
    Gemma2Config,
    Gemma3TextConfig,
    GemmaConfig,
    LlamaConfig,
    MistralConfig,
    Phi3Config,
    PhiConfig,
    Qwen2Config,
    Qwen3Config,
)

from explorer.heads.heads import MedusaHeads
from explorer.heads.heads_config import HeadsConfig
from explorer.heads.hydra import HydraHeads
from explorer.measuring.selfcheck import check_model
from explorer.models.base import LanguageModel
from explorer.models.loader import choose_attention, make_lm_head

VOCAB = 96
SHAPE = {
    "vocab_size": VOCAB,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
WINDOW = 7
ARCHITECTURES = {
    "llama": lambda: LlamaConfig(**SHAPE),
    "mistral": lambda: MistralConfig(**SHAPE, sliding_window=WINDOW),
    "qwen2": lambda: Qwen2Config(**SHAPE),
    "qwen3": lambda: Qwen3Config(**SHAPE, head_dim=8),
    "gemma": lambda: GemmaConfig(**SHAPE, head_dim=8),
    "gemma2": lambda: Gemma2Config(**SHAPE, head_dim=8, sliding_window=WINDOW),
    "gemma3": lambda: Gemma3TextConfig(
        **SHAPE, head_dim=8, sliding_window=WINDOW, sliding_window_pattern=2
    ),
    "phi": lambda: PhiConfig(**SHAPE),
    "phi3": lambda: Phi3Config(**SHAPE),
}


def tiny_model(architecture: str = "llama", seed: int = 0) -> LanguageModel:
    """A random float32 model with logits spread enough to have clear argmaxes."""
    torch.manual_seed(seed)
    config = ARCHITECTURES[architecture]()
    network = AutoModelForCausalLM.from_config(config).eval().requires_grad_(False)
    for parameter in network.parameters():
        if parameter.dim() > 1:
            parameter.normal_(0, 0.3)
    device = torch.device("cpu")
    choose_attention(network, device)
    model = LanguageModel(
        network=network,
        tokenizer=None,
        lm_head=make_lm_head(network),
        name=f"tiny {architecture}",
        backend="fp32",
        device=device,
        context_length=config.max_position_embeddings,
        eos_ids=frozenset(),
    )
    check_model(model)
    return model


def random_heads(model: LanguageModel, num_heads: int = 4, seed: int = 0) -> MedusaHeads:
    """Heads of the kind own with random residual blocks: they guess, and sometimes well."""
    torch.manual_seed(seed)
    config = HeadsConfig(
        kind="own",
        num_heads=num_heads,
        num_blocks=1,
        hidden_size=model.hidden_size,
        vocab_size=model.vocab_size,
    )
    heads = MedusaHeads.create(config, model.lm_head_weight())
    with torch.no_grad():
        heads.block_weight.normal_(0, 0.2)
    return heads.eval().requires_grad_(False)


def random_hydra(model: LanguageModel, num_heads: int = 4, seed: int = 0) -> HydraHeads:
    """Hydra heads of the kind own with random residual blocks and path weights."""
    torch.manual_seed(seed)
    config = HeadsConfig(
        architecture="hydra",
        kind="own",
        num_heads=num_heads,
        num_blocks=2,
        hidden_size=model.hidden_size,
        vocab_size=model.vocab_size,
    )
    heads = HydraHeads.create(config, model.lm_head_weight())
    heads.use_embeddings(model.embeddings)
    with torch.no_grad():
        heads.block_weight.normal_(0, 0.2)
        heads.path_weight.normal_(0, 0.2)
    return heads.eval().requires_grad_(False)
