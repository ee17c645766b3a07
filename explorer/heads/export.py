"""Writing heads in the formats of other projects (layouts.py), and in the own one.

What a format cannot hold is refused with what would be needed. Reading an export back gives the
same bits: the tensors are renamed, never computed with, but for the whole vocabulary of heads that
choose between some tokens only (vocabulary.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from explorer.heads.checkpoints import save_heads
from explorer.heads.head_files import BaseModelNeededError
from explorer.heads.heads import MedusaHeads
from explorer.heads.heads_config import HeadsConfig
from explorer.heads.vocabulary import over_whole_vocabulary
from explorer.records.errors import ExplorerError
from explorer.weights.folders import CONFIG, WEIGHTS, write_files

MEDUSA_FILE, TGI_FILE = "medusa_lm_head.pt", "medusa_lm_head.safetensors"


@dataclass(frozen=True)
class Exported:
    """What was written: file names in the folder, and what whoever serves them should know."""

    format: str
    files: list[str]
    notes: list[str] = field(default_factory=list)


def export_heads(
    heads: MedusaHeads, folder: str | Path, to: str, whole_vocabulary: bool = False
) -> Exported:
    """Write the heads, which were loaded and not packed, into `folder` in the format `to`.

    `whole_vocabulary`: for vLLM, write heads that choose between some tokens over all of them.
    Heads that share the LM head must have been joined to their base model where the format wants
    it written. Raises ExplorerError for an unknown format, heads that it cannot hold, a full disk.
    """
    if to not in EXPORTERS:
        raise ExplorerError(
            f"'{to:.40}' is no format of heads: choose one of {', '.join(FORMATS)}."
        )
    if heads.sees_path and to != "explorer":
        raise ExplorerError(
            f"Hydra heads read the tokens on their path, which the format '{to}' has no place for: "
            "export Medusa heads, or use the format 'explorer'."
        )
    return EXPORTERS[to](heads, Path(folder), whole_vocabulary)


def _to_explorer(heads: MedusaHeads, folder: Path, _: bool) -> Exported:
    if heads.config.projection_from:
        # The folder that lends the projection does not come along.
        heads.config = heads.config.model_copy(update={"projection_from": ""})
    save_heads(heads, folder)
    return Exported("explorer", [WEIGHTS, CONFIG])


def _to_medusa(heads: MedusaHeads, folder: Path, _: bool) -> Exported:
    return _write_public(heads, folder, "medusa", MEDUSA_FILE, _public_tensors(heads, own=True))


def _to_tgi(heads: MedusaHeads, folder: Path, _: bool) -> Exported:
    # Its version 2, heads that share the LM head, has one block.
    own = heads.config.kind != "shared" or heads.config.num_blocks != 1
    return _write_public(heads, folder, "tgi", TGI_FILE, _public_tensors(heads, own))


def _write_public(
    heads: MedusaHeads, folder: Path, to: str, name: str, tensors: dict[str, Tensor]
) -> Exported:
    config = heads.config
    fields = {
        "medusa_num_heads": config.num_heads,
        "medusa_num_layers": config.num_blocks,
        "hidden_size": config.hidden_size,
        "vocab_size": config.vocab_size,
        "base_model_name_or_path": config.base_model,
    }
    write_files(folder, {name: tensors}, {CONFIG: fields}, "The heads")
    return Exported(to, [name, CONFIG], _whole_note(config))


def _public_tensors(heads: MedusaHeads, own: bool) -> dict[str, Tensor]:
    """{k}.{b}.linear.weight, {k}.{b}.linear.bias and, for heads with their own, {k}.{B}.weight."""
    blocks = _block_tensors(heads, "{k}.{b}.linear.{what}")
    if not own:
        return blocks
    projections = _whole_projection(heads)
    last = heads.config.num_blocks
    return blocks | {
        f"{k}.{last}.weight": _written(projections[k] if projections.dim() == 3 else projections)
        for k in range(heads.config.num_heads)
    }


def _to_vllm(heads: MedusaHeads, folder: Path, whole_vocabulary: bool) -> Exported:
    config = heads.config
    truncated = config.kind == "draft_vocab" and not whole_vocabulary
    truncated = truncated and config.output_size < config.vocab_size
    tensors = _block_tensors(heads, "blocks.{k}.layers.{b}.{what}")
    if config.kind == "own":
        each = enumerate(heads.rows)
        tensors |= {f"lm_heads.{k}.weight": _written(projection) for k, projection in each}
    else:
        shared = heads.rows if truncated else _whole_projection(heads)
        tensors["lm_heads.0.weight"] = _written(shared)
    if truncated:
        tensors["token_map"] = _written(heads.ids_of_drafts)
    fields: dict[str, Any] = {
        "architectures": ["MedusaModel"],
        "model_type": "medusa",
        "hidden_size": config.hidden_size,
        "vocab_size": config.vocab_size,
        "truncated_vocab_size": config.output_size if truncated else config.vocab_size,
        "num_heads": config.num_heads,
        "num_hidden_layers": config.num_blocks,
        "medusa_fc_bias": True,
        "original_lm_head": config.kind != "own",
        "base_model_name_or_path": config.base_model,
        "torch_dtype": str(heads.block_weight.dtype).removeprefix("torch."),
    }
    write_files(folder, {WEIGHTS: tensors}, {CONFIG: fields}, "The heads")
    notes = [] if truncated else _whole_note(config)
    if truncated:
        notes = [
            "vLLM 0.32.0 refuses a vocabulary of the heads' own at load ('weights were not "
            "initialized from checkpoint: token_map'): for it, export without --token-map."
        ]
    return Exported("vllm", [WEIGHTS, CONFIG], notes)


def _block_tensors(heads: MedusaHeads, name: str) -> dict[str, Tensor]:
    """The residual blocks, one by one, under names made by `name`."""
    K, B = heads.config.num_heads, heads.config.num_blocks
    both = {"weight": heads.block_weight, "bias": heads.block_bias}
    return {
        name.format(k=k, b=b, what=what): _written(stacked[k, b])
        for k in range(K)
        for b in range(B)
        for what, stacked in both.items()
    }


def _whole_projection(heads: MedusaHeads) -> Tensor:
    """[V, H] for all heads, or [K, V, H]. Raises ExplorerError where the base model has it."""
    if heads.projection is None:
        raise BaseModelNeededError(
            "These heads share the base model's LM head, which this format wants written: load "
            "them together with their base model."
        )
    if heads.token_map is None:
        return heads.projection
    return over_whole_vocabulary(heads.projection, heads.token_map, heads.config.vocab_size)


def _written(tensor: Tensor) -> Tensor:
    """A copy of its own: no file may hold one memory under two names."""
    return tensor.detach().cpu().contiguous().clone()


def _whole_note(config: HeadsConfig) -> list[str]:
    if config.kind != "draft_vocab" or config.output_size == config.vocab_size:
        return []
    return [
        f"The heads choose between {config.output_size} tokens; they were written over all "
        f"{config.vocab_size}, where the others never win: first guesses are the same, guesses "
        "behind them and probabilities may differ."
    ]


EXPORTERS: dict[str, Callable[[MedusaHeads, Path, bool], Exported]] = {
    "medusa": _to_medusa,
    "tgi": _to_tgi,
    "vllm": _to_vllm,
    "explorer": _to_explorer,
}
FORMATS = tuple(EXPORTERS)
