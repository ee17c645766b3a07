"""Public formats of Medusa heads, turned into the own layout (checkpoints.py).

All have the keys `{head}.{block}.linear.weight`, `{head}.{block}.linear.bias` and
`{head}.{num_blocks}.weight` (the projection):

- `medusa_lm_head.pt` or `.safetensors` of FasterDecoding/Medusa;
- `medusa_lm_head.safetensors` of text-generation-inference, where a missing projection means that
  the heads share the LM head;
- vLLM's (`blocks.{head}.layers.{block}.weight`, `lm_heads.{head}.weight`);
- full Medusa checkpoints (v1.0), whose heads lie among the model's weights as `medusa_head.*`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError
from torch import Tensor

from explorer.heads.head_files import IN_MODEL, require, stored_dtype
from explorer.heads.heads import HeadsConfig
from explorer.records.errors import ExplorerError

_VLLM_BLOCK = re.compile(r"^blocks\.(\d+)\.layers\.(\d+)\.(weight|bias)$")
_KEY = re.compile(
    rf"^(?:{re.escape(IN_MODEL)})?((\d+)\.(\d+)\.(linear\.weight|linear\.bias|weight))$"
)


def from_public(
    tensors: dict[str, Tensor], raw: dict[str, Any], path: Path, vocab_size: int | None
) -> tuple[HeadsConfig, dict[str, Tensor]]:
    """Configuration and stacked tensors of heads in a public format.

    raw is their config.json, path names the file in errors, vocab_size is the base model's, where
    it is known. Raises ExplorerError: no heads, incomplete ones, unequal shapes.
    """
    tensors = _renamed_from_vllm(tensors, path)
    matches = {name: match for name in tensors if (match := _KEY.match(name))}
    if not matches:
        raise ExplorerError(
            f"{path} holds no Medusa heads (no key like 0.0.linear.weight, medusa_head.* or "
            "blocks.0.layers.0.weight): choose a checkpoint with heads."
        )
    named = {match[1]: tensors[name] for name, match in matches.items()}
    # The tensors decide: published configurations name fewer heads than their files hold.
    K = 1 + max(int(match[2]) for match in matches.values())
    B = 1 + max((int(match[3]) for match in matches.values() if match[4] != "weight"), default=-1)
    own = any(match[4] == "weight" for match in matches.values())
    _require_possible(K, B, path)
    keys = {f"{k}.{b}.linear.{w}" for k in range(K) for b in range(B) for w in ("weight", "bias")}
    keys |= {f"{k}.{B}.weight" for k in range(K)} if own else set()
    require(named, keys, path)
    _require_shapes({key: named[key] for key in keys}, path)
    config = HeadsConfig(
        kind="own" if own else "shared",
        num_heads=K,
        num_blocks=B,
        hidden_size=named[min(keys)].shape[-1],
        vocab_size=len(named[f"0.{B}.weight"]) if own else _vocabulary(raw, vocab_size),
        base_model=str(raw.get("base_model_name_or_path") or raw.get("_name_or_path") or ""),
    )
    try:
        return config, _stacked(named, config)
    except RuntimeError as error:  # torch.stack of unequal shapes
        raise ExplorerError(
            f"The heads in {path} differ in shape: download the checkpoint again."
        ) from error


def _require_possible(num_heads: int, num_blocks: int, path: Path) -> None:
    """Refuse numbers that no checkpoint has, before anything is made of that many."""
    try:
        HeadsConfig(
            kind="shared", num_heads=num_heads, num_blocks=num_blocks, hidden_size=1, vocab_size=1
        )
    except ValidationError as error:
        raise ExplorerError(
            f"{path} claims {num_heads} heads of {num_blocks} blocks, and no Medusa checkpoint has "
            "that many: choose another one."
        ) from error


def _renamed_from_vllm(tensors: dict[str, Tensor], path: Path) -> dict[str, Tensor]:
    """Heads in vLLM's layout under the public names; it leaves out biases that are zero.

    Raises ExplorerError for a vocabulary of their own, which vLLM keeps in a token_map.
    """
    blocks = {name: match for name in tensors if (match := _VLLM_BLOCK.match(name))}
    if not blocks:
        return tensors
    if "token_map" in tensors:
        raise ExplorerError(
            f"The heads in {path} have vLLM's layout with a vocabulary of their own (token_map), "
            "which is not supported: export them over the whole vocabulary."
        )
    out = {}
    for name, (k, b, what) in ((name, match.groups()) for name, match in blocks.items()):
        out[f"{k}.{b}.linear.{what}"] = tensors[name]
        if f"blocks.{k}.layers.{b}.bias" not in tensors:
            out[f"{k}.{b}.linear.bias"] = tensors[name].new_zeros(tensors[name].shape[:1])
    count = 1 + max(int(match[2]) for match in blocks.values())
    heads = {k for k, *_ in (match.groups() for match in blocks.values())}
    for k in heads:
        projection = tensors.get(f"lm_heads.{k}.weight", tensors.get("lm_head.weight"))
        if projection is not None:
            out[f"{k}.{count}.weight"] = projection
    return out


def _require_shapes(named: dict[str, Tensor], path: Path) -> None:
    """Refuse tensors that are empty, or are no matrices and vectors that fit together."""
    for key, tensor in sorted(named.items()):
        axes = 1 if key.endswith("bias") else 2
        if tensor.numel() == 0 or tensor.dim() != axes:
            raise ExplorerError(
                f"The heads in {path} are not whole: {key} has the shape {list(tensor.shape)}, as "
                "ZeRO-3 and FSDP leave it when weights are not gathered; save them again with all "
                "weights gathered."
            )
    size = named[min(named)].shape[-1]
    for key, tensor in sorted(named.items()):
        square = key.endswith("linear.weight") and tensor.shape[0] != size
        if square or tensor.shape[-1] != size:
            raise ExplorerError(
                f"The heads in {path} differ in shape: {key} has the shape {list(tensor.shape)}, "
                f"and their hidden size is {size}; download the checkpoint again."
            )


def _vocabulary(raw: dict[str, Any], vocab_size: int | None) -> int:
    """Shared heads say nothing of the vocabulary: it is the base model's."""
    stated = raw.get("vocab_size")
    if vocab_size is None and not (type(stated) is int and stated > 0):
        raise ExplorerError(
            "These heads share the base model's LM head: load them together with their base model."
        )
    return vocab_size or stated


def _stacked(named: dict[str, Tensor], config: HeadsConfig) -> dict[str, Tensor]:
    K, B, H = config.num_heads, config.num_blocks, config.hidden_size
    dtype = stored_dtype(named)

    def blocks(what: str, shape: tuple[int, ...]) -> Tensor:
        if B == 0:
            return torch.zeros(K, 0, *shape, dtype=dtype)
        each = [torch.stack([named[f"{k}.{b}.linear.{what}"] for b in range(B)]) for k in range(K)]
        return torch.stack(each)

    tensors = {"block_weight": blocks("weight", (H, H)), "block_bias": blocks("bias", (H,))}
    if config.kind == "own":
        tensors["projection"] = torch.stack([named[f"{k}.{B}.weight"] for k in range(K)])
    return tensors
