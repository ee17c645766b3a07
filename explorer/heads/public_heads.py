"""Public formats of Medusa heads (layouts.py), turned into the own layout (checkpoints.py).

The tensors decide how many heads and blocks there are: published configurations name fewer heads
than their files hold.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError
from torch import Tensor

from explorer.heads.head_files import BaseModelNeededError, base_named, require, stored_dtype
from explorer.heads.heads_config import HeadKind, HeadsConfig
from explorer.heads.layouts import NamedHeads, named_heads
from explorer.heads.public_hydra import are_hydra, from_authors
from explorer.heads.vocabulary import over_whole_vocabulary
from explorer.records.errors import ExplorerError

Blocks = dict[tuple[int, int, str], Tensor]


def from_public(
    tensors: dict[str, Tensor], raw: dict[str, Any], path: Path, vocab_size: int | None
) -> tuple[HeadsConfig, dict[str, Tensor], str]:
    """Configuration, stacked tensors and format of heads in a public format.

    raw is their config.json, path names the file in errors, vocab_size is the base model's, where
    it is known. Raises ExplorerError: no heads, incomplete ones, unequal shapes.
    """
    found = named_heads(tensors)
    if found is None and are_hydra(tensors):
        config, stacked = from_authors(tensors, raw, path)
        return config, stacked, "hydra"
    if found is None:
        raise ExplorerError(
            f"{path} holds no Medusa heads (no key like 0.0.linear.weight, medusa_head.* or "
            "blocks.0.layers.0.weight): choose a checkpoint with heads."
        )
    K = 1 + max([k for k, _, _ in found.blocks] + list(found.projections), default=-1)
    B = 1 + max((b for _, b, _ in found.blocks), default=-1)
    B = max([B, *found.after])  # fewer are stored where blocks share their weight
    _require_possible(K, B, path)
    _require_shapes(found.stored, path)
    blocks, vocab_size = _completed(found.blocks, K, B, path), _vocabulary(found, raw, vocab_size)
    try:
        projection = _projection(found, K, vocab_size, path)
        stacked = _stacked(blocks, K, B, found) | projection
    except (RuntimeError, IndexError) as error:  # torch.stack of unequal shapes
        raise ExplorerError(
            f"The heads in {path} differ in shape: download the checkpoint again."
        ) from error
    config = HeadsConfig(
        kind=_kind(projection),
        num_heads=K,
        num_blocks=B,
        hidden_size=_hidden_size(found.stored),
        vocab_size=vocab_size,
        draft_vocab_size=len(projection["token_map"]) if "token_map" in projection else None,
        base_model=base_named(raw),
    )
    return config, stacked, found.format


def _require_possible(num_heads: int, num_blocks: int, path: Path) -> None:
    """Refuse impossible numbers before allocating anything of that size."""
    try:
        HeadsConfig(
            kind="shared", num_heads=num_heads, num_blocks=num_blocks, hidden_size=1, vocab_size=1
        )
    except ValidationError as error:
        raise ExplorerError(
            f"{path} claims {num_heads} heads of {num_blocks} blocks, and no Medusa checkpoint has "
            "that many: choose another one."
        ) from error


def _hidden_size(stored: dict[str, Tensor]) -> int:
    return next(tensor.shape[-1] for _, tensor in sorted(stored.items()))


def _require_shapes(stored: dict[str, Tensor], path: Path) -> None:
    """Refuse tensors that are empty, or whose shapes do not fit together."""
    named = {name: tensor for name, tensor in stored.items() if not name.endswith("token_map")}
    for key, tensor in sorted(named.items()):
        axes = 1 if key.endswith("bias") else 2
        if tensor.numel() == 0 or tensor.dim() != axes:
            raise ExplorerError(
                f"The heads in {path} are not whole: {key} has the shape {list(tensor.shape)}, as "
                "ZeRO-3 and FSDP leave it when weights are not gathered; save them again with all "
                "weights gathered."
            )
    size = _hidden_size(named)
    for key, tensor in sorted(named.items()):
        in_block = key.endswith("linear.weight") or "layers." in key
        square = in_block and tensor.dim() == 2 and tensor.shape[0] != size
        if square or tensor.shape[-1] != size:
            raise ExplorerError(
                f"The heads in {path} differ in shape: {key} has the shape {list(tensor.shape)}, "
                f"and their hidden size is {size}; download the checkpoint again."
            )


def _completed(blocks: Blocks, num_heads: int, num_blocks: int, path: Path) -> Blocks:
    """The same with what a file leaves out because it can be known.

    A head of old checkpoints repeats one block several times, and safetensors keep it once; vLLM
    leaves out biases that are zero.
    """
    if blocks and not any(what == "bias" for *_, what in blocks):
        zeros = {(k, b, "bias"): w.new_zeros(w.shape[:1]) for (k, b, _), w in blocks.items()}
        blocks = blocks | zeros
    for k in range(num_heads):
        present = sorted({b for head, b, _ in blocks if head == k})
        if len(present) == 1 and num_blocks > 1:
            one = {what: t for (head, _, what), t in blocks.items() if head == k}
            blocks = blocks | {
                (k, b, what): t for b in range(num_blocks) for what, t in one.items()
            }
    names = {f"{k}.{b}.{what}": tensor for (k, b, what), tensor in blocks.items()}
    wanted = {
        f"{k}.{b}.{w}"
        for k in range(num_heads)
        for b in range(num_blocks)
        for w in ("weight", "bias")
    }
    require(names, wanted, path)
    return blocks


def _vocabulary(found: NamedHeads, raw: dict[str, Any], vocab_size: int | None) -> int:
    """The projections' rows, where they are over the whole vocabulary, or the base model's size."""
    if found.projections and found.token_map is None:
        return len(next(iter(found.projections.values())))
    stated = raw.get("vocab_size")
    if vocab_size is None and not (type(stated) is int and stated > 0):
        what = "have a vocabulary of their own" if found.projections else "share its LM head"
        raise BaseModelNeededError(
            f"These heads do not say how large their base model's vocabulary is and {what}: "
            "load them together with their base model."
        )
    return vocab_size or int(raw["vocab_size"])


def _projection(
    found: NamedHeads, num_heads: int, vocab_size: int, path: Path
) -> dict[str, Tensor]:
    """Projection and token map in the own layout; neither where the heads share the LM head."""
    if not found.projections:
        return {}
    token_map = None if found.token_map is None else found.token_map.long()
    weights = {
        k: weight[token_map] if token_map is not None and len(weight) > len(token_map) else weight
        for k, weight in found.projections.items()
    }
    one = (
        found.format == "vllm" and list(weights) == [0] and (num_heads > 1 or token_map is not None)
    )
    if one:
        every = torch.arange(vocab_size) if token_map is None else token_map
        return {"projection": weights[0], "token_map": every}
    named = {f"the projection of head {k}": weight for k, weight in weights.items()}
    require(named, {f"the projection of head {k}" for k in range(num_heads)}, path)
    stacked = torch.stack([weights[k] for k in range(num_heads)])
    if token_map is not None:
        stacked = over_whole_vocabulary(stacked, token_map, vocab_size)
    return {"projection": stacked}


def _kind(projection: dict[str, Tensor]) -> HeadKind:
    if not projection:
        return "shared"
    return "draft_vocab" if "token_map" in projection else "own"


def _stacked(
    blocks: Blocks, num_heads: int, num_blocks: int, found: NamedHeads
) -> dict[str, Tensor]:
    """block_weight [K, B, H, H] and block_bias [K, B, H]."""
    size, dtype = _hidden_size(found.stored), stored_dtype(found.stored)

    def stack(what: str, shape: tuple[int, ...]) -> Tensor:
        if num_blocks == 0:
            return torch.zeros(num_heads, 0, *shape, dtype=dtype)
        return torch.stack(
            [torch.stack([blocks[k, b, what] for b in range(num_blocks)]) for k in range(num_heads)]
        )

    return {"block_weight": stack("weight", (size, size)), "block_bias": stack("bias", (size,))}
