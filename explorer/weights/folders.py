"""Checkpoint folders: weights beside their `config.json`, written whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from explorer.records.errors import ExplorerError

WEIGHTS, CONFIG = "model.safetensors", "config.json"


def require_weights(folder: Path) -> None:
    """Raise ExplorerError for a model's folder that has a config.json and no weights beside it."""
    if (folder / CONFIG).is_file() and not any(
        path.suffix in (".safetensors", ".bin", ".h5", ".msgpack") for path in folder.iterdir()
    ):
        raise ExplorerError(
            f"There are no weights in {folder} (model.safetensors, or its parts): download the "
            "model whole, or choose another folder."
        )


def write_checkpoint(
    folder: str | Path, tensors: dict[str, Tensor], config: dict[str, Any], what: str
) -> Path:
    """Write both files; `what` names their content in an error. Raises ExplorerError."""
    return write_files(folder, {WEIGHTS: tensors}, {CONFIG: config}, what)


def write_files(
    folder: str | Path,
    tensors: dict[str, dict[str, Tensor]],
    configs: dict[str, dict[str, Any]],
    what: str,
) -> Path:
    """Write tensors and JSON files by name, all or none: safetensors, and pickles for `.pt`.

    An interrupted write or a full disk leaves the old files whole. Raises ExplorerError.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # All files are written under temporary names first, so that a full disk damages none.
        for name, content in tensors.items():
            _write_tensors(content, folder / f"{name}.part", pickled=name.endswith(".pt"))
        for name, content in configs.items():
            text = json.dumps(content, indent=2, ensure_ascii=False)
            (folder / f"{name}.part").write_text(text + "\n", encoding="utf-8")
        for name in (*tensors, *configs):
            # safetensors makes files that only the owner reads; a container may have another user.
            (folder / f"{name}.part").chmod(0o644)
            os.replace(folder / f"{name}.part", folder / name)
    except (OSError, SafetensorError) as error:
        raise ExplorerError(
            f"{what} cannot be saved in {folder} ({error}): "
            "free some disk space or choose another folder."
        ) from error
    return folder


def _write_tensors(content: dict[str, Tensor], path: Path, pickled: bool) -> None:
    if pickled:
        torch.save(content, path)
    else:
        save_file(content, path, metadata={"format": "pt"})
