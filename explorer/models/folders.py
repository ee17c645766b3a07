"""Checkpoint folders: `model.safetensors` beside `config.json`, written whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from explorer.errors import ExplorerError

WEIGHTS, CONFIG = "model.safetensors", "config.json"


def write_checkpoint(
    folder: str | Path, tensors: dict[str, Tensor], config: dict[str, Any], what: str
) -> Path:
    """Write both files; an interrupted write or a full disk leaves the old ones whole.

    `what` names the content in the error, in the plural ("The heads"). Raises ExplorerError.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Both files are written aside first, so that a full disk spoils neither.
        save_file(tensors, folder / f"{WEIGHTS}.part", metadata={"format": "pt"})
        text = json.dumps(config, indent=2, ensure_ascii=False)
        (folder / f"{CONFIG}.part").write_text(text + "\n", encoding="utf-8")
        for name in (WEIGHTS, CONFIG):
            # safetensors writes for the owner alone, and an image may run as another user.
            (folder / f"{name}.part").chmod(0o644)
            os.replace(folder / f"{name}.part", folder / name)
    except (OSError, SafetensorError) as error:
        raise ExplorerError(
            f"{what} cannot be saved in {folder} ({error}): "
            "free some disk space or choose another folder."
        ) from error
    return folder
