"""How many weights heads and base models have, however they are stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from transformers import AutoModelForCausalLM

if TYPE_CHECKING:
    from explorer.heads.heads import MedusaHeads
    from explorer.models.base import LanguageModel


def parameters_of(heads: MedusaHeads) -> int:
    """Trained weights: of the blocks, of Hydra's path, and of a projection that they own."""
    config = heads.config
    size, K = config.hidden_size, config.num_heads
    blocks = K * config.num_blocks * (size * size + size)
    path = K * (K + 1) // 2 * size * size if heads.sees_path else 0
    if config.mixing:  # the residual way has weights of its own, and the projection a bias
        path += path + K * (size * size + size) + K * config.output_size
    each = {"own": K, "draft_vocab": 1, "shared": 0}[config.kind]
    return blocks + path + each * config.output_size * size


def base_parameters(model: LanguageModel) -> int | None:
    """Weights of the base model by its architecture; quantised matrices do not say how many."""
    try:
        with torch.device("meta"):  # takes no memory
            return AutoModelForCausalLM.from_config(model.config).num_parameters()
    except Exception:  # an architecture that only its own code can build
        return None
