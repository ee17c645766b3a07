"""Reading and writing checkpoints of Medusa and Hydra heads.

Own format: `model.safetensors` with block_weight [K, B, H, H], block_bias [K, B, H], projection
([V_d, H] or [K, V, H], absent for the kind shared), token_map int32 [V_d] and, for Hydra,
path_weight [K(K+1)/2, H, H] (and those of MixingHydraHeads where the config says so), beside
`config.json` (the fields of HeadsConfig). Weights may lie in 8 bits (head_storage.py). If the
config names a `projection_from`, projection and token_map are in the folder of that name beside
this one.
The formats of other projects are read too (public_heads.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError
from torch import Tensor

from explorer.heads.head_files import (
    read_config,
    read_tensors,
    require,
    require_numbers,
    stored_dtype,
    weights_file,
)
from explorer.heads.head_storage import Storage, stored
from explorer.heads.heads import MedusaHeads
from explorer.heads.heads_config import HeadsConfig
from explorer.heads.hydra import HydraHeads, first_heads, new_heads
from explorer.heads.layouts import Origin
from explorer.heads.origin import differences
from explorer.heads.public_heads import from_public
from explorer.models.base import LanguageModel
from explorer.records.errors import ExplorerError, first_mistake
from explorer.weights.folders import WEIGHTS, write_checkpoint
from explorer.weights.hub import heads_folder

MIXING = {"residual_weight", "residual_path", "residual_bias", "projection_bias"}
BORROWED = ("projection", "token_map")  # what `projection_from` gives


def save_heads(heads: MedusaHeads, folder: str | Path, storage: Storage | None = None) -> Path:
    """Write the heads in this product's format; an interrupted write keeps the old files.

    storage None keeps their dtype.
    """
    if heads.packed is not None or heads.compiled is not None or heads.lighter:
        raise ValueError("packed heads only draft: load them again to save them")
    elsewhere = BORROWED if heads.config.projection_from else ()
    tensors = {
        name: tensor.detach().cpu().contiguous()
        for name, tensor in heads.state_dict().items()
        if name not in elsewhere
    }
    if storage is not None:
        for name in tensors.keys() - {"token_map"}:
            tensors[name] = stored(tensors[name], storage)
    if "token_map" in tensors:
        tensors["token_map"] = tensors["token_map"].int()
    return write_checkpoint(folder, tensors, heads.config.model_dump(mode="json"), "The heads")


def load_heads(
    folder_or_repo_id: str | Path,
    base: LanguageModel | None = None,
    *,
    dtype: torch.dtype | None = None,
    num_heads: int | None = None,
) -> MedusaHeads:
    """Heads from a local folder or a Hub repo, on their base model's device, ready for `propose`.

    dtype None keeps the stored dtype; `num_heads` takes the first ones only. Without their base
    model the heads are on the CPU, lack what they borrow from it (the LM head for the kind shared,
    the embeddings for Hydra), and are not checked against it. Where they came from, and what their
    config.json says otherwise, is in `origin`. Raises ExplorerError for heads that are damaged,
    incomplete or made for another base model.
    """
    folder = heads_folder(folder_or_repo_id)
    raw = read_config(folder)
    path = weights_file(folder, raw)
    tensors = read_tensors(path)
    if "block_weight" in tensors:
        heads, kind = _from_own(tensors, raw, folder), "explorer"
    else:
        require_numbers(tensors, path)
        vocab_size = base.vocab_size if base else None
        config, stacked, kind = from_public(tensors, raw, path, vocab_size)
        heads = _assemble(config, stacked, path)
    origin = Origin(kind, differences(heads.config, raw, kind))
    heads = heads.to(dtype=dtype or stored_dtype(tensors))
    if num_heads is not None:
        heads = first_heads(heads, num_heads, folder)
    if base is not None:
        heads = _joined_to(base, heads, folder)
    heads.origin = origin
    return heads.eval().requires_grad_(False)


def _joined_to(base: LanguageModel, heads: MedusaHeads, folder: Path) -> MedusaHeads:
    _check_base(heads.config, base, folder)
    heads = heads.to(base.device)
    if heads.config.kind == "shared":
        heads.use_lm_head(base.lm_head.weight)
    if isinstance(heads, HydraHeads):
        heads.use_embeddings(base.embeddings)
    return heads


def _from_own(tensors: dict[str, Tensor], raw: dict[str, Any], folder: Path) -> MedusaHeads:
    try:
        config = HeadsConfig.model_validate(raw)
    except ValidationError as error:
        raise ExplorerError(
            f"The heads' config.json in {folder} is wrong ({first_mistake(error)}): download or "
            "export the heads again."
        ) from error
    if config.projection_from:
        tensors = tensors | _borrowed(folder.parent / config.projection_from)
    wanted = {"block_weight", "block_bias"}
    wanted |= {"path_weight"} if config.architecture == "hydra" else set()
    wanted |= MIXING if config.mixing else set()
    wanted |= {"projection"} if config.kind != "shared" else set()
    wanted |= {"token_map"} if config.kind == "draft_vocab" else set()
    require(tensors, wanted, folder)
    return _assemble(config, tensors, folder)


def _borrowed(folder: Path) -> dict[str, Tensor]:
    """Projection and token map of the heads in `folder`."""
    if not (folder / WEIGHTS).is_file():
        raise ExplorerError(
            f"These heads use the projection of the heads in {folder}, which is not there: put "
            "both folders next to each other."
        )
    found = read_tensors(folder / WEIGHTS)
    return {name: found[name] for name in BORROWED if name in found}


def _assemble(config: HeadsConfig, tensors: dict[str, Tensor], place: Path) -> MedusaHeads:
    """Heads around the given tensors, every shape checked."""
    with torch.device("meta"):  # allocate no memory for weights that are replaced at once
        heads = new_heads(config)
    expected = {n: tuple(t.shape) for n, t in heads.state_dict().items() if n != "token_map"}
    for name, shape in expected.items():
        if tuple(tensors[name].shape) != shape:
            raise ExplorerError(
                f"The heads in {place} do not match their config.json: {name} has shape "
                f"{list(tensors[name].shape)} instead of {list(shape)}; export them again."
            )
        require_numbers({name: tensors[name]}, place)
        if not torch.isfinite(tensors[name]).all():
            raise ExplorerError(
                f"The heads in {place} hold values that are not numbers ({name}): train them again "
                "with a lower learning rate, or download them again."
            )
    token_map = tensors.get("token_map") if config.kind == "draft_vocab" else None
    heads.load_state_dict({n: tensors[n] for n in expected}, strict=False, assign=True)
    if token_map is not None:
        heads.set_token_map(token_map)
    return heads


def _check_base(config: HeadsConfig, base: LanguageModel, folder: Path) -> None:
    """Refuse heads of another base model before their first product fails."""
    for what, theirs, ours in (
        ("hidden states of size", config.hidden_size, base.hidden_size),
        ("a vocabulary of size", config.vocab_size, base.vocab_size),
    ):
        if theirs != ours:
            made_for = f" (made for {config.base_model})" if config.base_model else ""
            raise ExplorerError(
                f"The heads in {folder}{made_for} expect {what} {theirs}, but this base model "
                f"has {ours}: choose heads that were trained for this base model."
            )
