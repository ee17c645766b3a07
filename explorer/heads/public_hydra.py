"""Hydra heads in the layout of their authors (zankner/Hydra), turned into the own layout.

    hydra_mlp.{k}.0.linear           [H, (k + 2)·H]: of the hidden state, then of each embedding
    hydra_mlp.{k}.0.res_connection   the same shape: what the first block is added to
    hydra_mlp.{k}.{b}.linear         [H, H], further residual blocks
    hydra_lm_head.{k}                [V, H]

each with a bias, head k counted from 0. The prefix layer of Hydra++ is a transformer layer over the
whole text, which these heads have no place for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from explorer.heads.head_files import base_named, require
from explorer.heads.heads_config import HeadsConfig
from explorer.records.errors import ExplorerError

_PARTS = re.compile(
    r"hydra_(?:mlp\.(\d+)\.(\d+)\.(linear|res_connection)|lm_head\.(\d+))\.(weight|bias)"
)
MOST_HEADS, MOST_BLOCKS = 64, 16


@dataclass(frozen=True)
class _Sizes:
    heads: int
    blocks: int
    vocabulary: int = 1
    hidden: int = 1


def are_hydra(names: Iterable[str]) -> bool:
    """Whether tensors of these names are such heads."""
    return any(map(_PARTS.fullmatch, names))


def from_authors(
    tensors: dict[str, Tensor], raw: dict[str, Any], path: Path
) -> tuple[HeadsConfig, dict[str, Tensor]]:
    """Configuration and stacked tensors; raw is their config.json, path names the file in errors.

    Raises ExplorerError: Hydra++, heads that do not see the tokens, incomplete or unequal ones.
    """
    found = [match for match in map(_PARTS.fullmatch, tensors) if match]
    _require_expressible(tensors, raw, len(found), path)
    K = 1 + max(int(match[1] or match[4] or 0) for match in found)
    B = 1 + max(int(match[2] or 0) for match in found)
    if K > MOST_HEADS or B > MOST_BLOCKS:
        raise ExplorerError(
            f"{path} claims {K} heads of {B} blocks, and no Hydra checkpoint has that many: choose "
            "another one."
        )
    require(tensors, set(_shapes(_Sizes(K, B))), path)
    sizes = _Sizes(K, B, *_projection_shape(tensors["hydra_lm_head.0.weight"], path))
    for name, shape in _shapes(sizes).items():
        if tuple(tensors[name].shape) != shape:
            raise ExplorerError(
                f"The heads in {path} differ in shape: {name} has the shape "
                f"{list(tensors[name].shape)}, and {list(shape)} is expected; download the "
                "checkpoint again."
            )
    config = HeadsConfig(
        architecture="hydra",
        kind="own",
        mixing=True,
        num_heads=K,
        num_blocks=B,
        hidden_size=sizes.hidden,
        vocab_size=sizes.vocabulary,
        base_model=base_named(raw),
    )
    return config, _stacked(tensors, sizes)


def _require_expressible(
    tensors: dict[str, Tensor], raw: dict[str, Any], known: int, path: Path
) -> None:
    if known < len(tensors):
        raise ExplorerError(
            f"{path} holds Hydra++ heads, whose prefix layer attends to the whole text, which is "
            "not supported: use Hydra heads without a prefix layer, or train some here ('python "
            "-m explorer train heads --architecture hydra')."
        )
    if not any(".res_connection." in name for name in tensors):
        raise ExplorerError(
            f"{path} holds Hydra heads that do not see the tokens before their target "
            "(grounded_heads off), which is not supported: use grounded Hydra heads or Medusa "
            "heads."
        )
    if raw.get("hidden_state_offset"):
        raise ExplorerError(
            f"The Hydra heads in {path} read an earlier layer's hidden state "
            "(hidden_state_offset), which is not supported: use heads that read the last one."
        )


def _projection_shape(weight: Tensor, path: Path) -> tuple[int, int]:
    if weight.dim() != 2 or weight.numel() == 0:
        raise ExplorerError(
            f"The heads in {path} are not whole: hydra_lm_head.0.weight has the shape "
            f"{list(weight.shape)}; save them again with all weights gathered."
        )
    return len(weight), weight.shape[1]


def _shapes(sizes: _Sizes) -> dict[str, tuple[int, ...]]:
    """The shape of every tensor."""
    H, shapes = sizes.hidden, {}
    for k in range(sizes.heads):
        layers = {f"hydra_mlp.{k}.{b}.linear": (H, H) for b in range(sizes.blocks)}
        for name in ("linear", "res_connection"):
            layers[f"hydra_mlp.{k}.0.{name}"] = (H, (k + 2) * H)
        layers[f"hydra_lm_head.{k}"] = (sizes.vocabulary, H)
        for name, shape in layers.items():
            shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    return shapes


def _stacked(tensors: dict[str, Tensor], sizes: _Sizes) -> dict[str, Tensor]:
    """The tensors of MixingHydraHeads."""
    K, B, H = sizes.heads, sizes.blocks, sizes.hidden

    def of_heads(name: str) -> Tensor:
        return torch.stack([tensors[name.format(k=k)] for k in range(K)])

    def blocks(what: str) -> Tensor:
        """[K, B, H, …], of the first block only the part of the hidden state."""
        rest = [of_heads(f"hydra_mlp.{{k}}.{b}.linear.{what}") for b in range(1, B)]
        first = [tensors[f"hydra_mlp.{k}.0.linear.{what}"] for k in range(K)]
        first = torch.stack([each[:, :H] if what == "weight" else each for each in first])
        return torch.stack([first, *rest], dim=1)

    def along_path(name: str) -> Tensor:
        """[K(K+1)/2, H, H]: the parts of the tokens, head after head."""
        parts = [tensors[f"hydra_mlp.{k}.0.{name}.weight"][:, H:] for k in range(K)]
        return torch.stack([part for each in parts for part in each.split(H, dim=1)])

    hidden = [tensors[f"hydra_mlp.{k}.0.res_connection.weight"][:, :H] for k in range(K)]
    return {
        "block_weight": blocks("weight"),
        "block_bias": blocks("bias"),
        "path_weight": along_path("linear"),
        "residual_weight": torch.stack(hidden),
        "residual_path": along_path("res_connection"),
        "residual_bias": of_heads("hydra_mlp.{k}.0.res_connection.bias"),
        "projection": of_heads("hydra_lm_head.{k}.weight"),
        "projection_bias": of_heads("hydra_lm_head.{k}.bias"),
    }
