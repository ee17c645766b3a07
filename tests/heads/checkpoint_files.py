"""Heads in the layouts of published checkpoints, and what loads them."""

from __future__ import annotations

import json
from types import SimpleNamespace

import torch

from tests.heads.test_heads import H, K, V, make


def public_tensors(num_blocks: int = 1, own: bool = True, prefix: str = "") -> dict:
    """The layout of FasterDecoding/Medusa and text-generation-inference."""
    heads = make("own", num_blocks)
    tensors = {}
    for k in range(K):
        for b in range(num_blocks):
            tensors[f"{prefix}{k}.{b}.linear.weight"] = heads.block_weight[k, b].detach().clone()
            tensors[f"{prefix}{k}.{b}.linear.bias"] = heads.block_bias[k, b].detach().clone()
        if own:
            tensors[f"{prefix}{k}.{num_blocks}.weight"] = heads.projection[k].detach().clone()
    return tensors


def public_config(folder, **changes) -> None:
    raw = {"medusa_num_heads": K, "medusa_num_layers": 1, "base_model_name_or_path": "some/base"}
    (folder / "config.json").write_text(json.dumps({**raw, **changes}))


def base(lm_head=None, **changes):
    """What heads take from their base model, and are checked against."""
    facts = {"device": torch.device("cpu"), "hidden_size": H, "vocab_size": V}
    return SimpleNamespace(**facts | changes, lm_head=SimpleNamespace(weight=lm_head))


def same(heads, expected) -> bool:
    hidden = torch.randn(4, H)
    return torch.equal(heads(hidden), expected(hidden))
