"""The files of a draft checkpoint: its config, its tensors, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import torch
from pydantic import BaseModel as Schema
from pydantic import ConfigDict, Field, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from explorer.records.errors import ExplorerError
from explorer.weights.folders import CONFIG, WEIGHTS

Storage = Literal["int4", "bf16"]


class DraftConfig(Schema):
    """What `config.json` of a draft checkpoint says."""

    model_config = ConfigDict(extra="ignore")

    num_layers: int = Field(ge=1, le=256)
    hidden_size: int = Field(ge=1, le=1 << 20)
    vocab_size: int = Field(ge=1, le=1 << 24)
    draft_vocab_size: int | None = Field(default=None, ge=1)
    storage: Storage = "int4"
    base_model: str = ""
    training: dict[str, Any] = Field(default_factory=dict)
    accuracy: dict[str, Any] = Field(default_factory=dict)


def read_config(folder: Path) -> DraftConfig:
    """The config of a draft checkpoint. Raises ExplorerError."""
    try:
        return DraftConfig.model_validate_json((folder / CONFIG).read_bytes())
    except FileNotFoundError:
        raise ExplorerError(
            f"There is no draft model in {folder}: make one with 'train draft', or name a folder "
            "that holds one."
        ) from None
    except (OSError, ValidationError, RecursionError) as error:
        raise ExplorerError(
            f"The draft model's {CONFIG} in {folder} cannot be read ({type(error).__name__}): "
            "train or download it again."
        ) from error


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """The tensors of a draft checkpoint by name. Raises ExplorerError."""
    try:
        return load_file(folder / WEIGHTS)
    except (OSError, SafetensorError) as error:
        raise ExplorerError(
            f"The draft model's {WEIGHTS} in {folder} cannot be read ({error!s:.120}): train or "
            "download it again."
        ) from error


def token_map_of(tensors: dict[str, Tensor], config: DraftConfig, folder: Path) -> Tensor | None:
    """Full token ids int64 [V_d]; None for the whole vocabulary. Raises ExplorerError."""
    if config.draft_vocab_size is None:
        return None
    ids = tensors.get("token_map", torch.empty(0)).long()
    fits = ids.shape == (config.draft_vocab_size,) and ids.unique().numel() == len(ids)
    if not fits or ids.min() < 0 or ids.max() >= config.vocab_size:
        raise broken(folder, "token_map")
    return ids


def broken(folder: Path, key: str) -> ExplorerError:
    """The error of a checkpoint whose tensor `key` is missing or damaged."""
    return ExplorerError(
        f"The draft model in {folder} is incomplete or does not fit its {CONFIG} ({key}): train "
        "or download it again."
    )
