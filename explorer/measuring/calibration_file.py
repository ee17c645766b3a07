"""Calibrations on disk: one JSON file for each model, set of heads, backend and machine."""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from explorer.analysis.calibration import Calibration, Key
from explorer.heads.fingerprint import heads_hash
from explorer.kernels import DIGEST
from explorer.kernels.isa import instruction_set
from explorer.records.errors import ExplorerError
from explorer.weights.cache import cache_folder

if TYPE_CHECKING:
    from explorer.heads.heads import MedusaHeads
    from explorer.models.base import LanguageModel

FOLDER = "calibration"
FILE_LIMIT = 16 << 20  # bytes


def key_of(model: LanguageModel, heads: MedusaHeads) -> Key:
    """The key of this model and these heads on this machine."""
    return Key(
        model=model.name,
        heads=f"{heads_hash(heads)} {heads.lighter}".strip(),
        backend=model.backend,
        device=f"{device_description(model.device)}{_kernels(model)}",
    )


def _kernels(model: LanguageModel) -> str:
    """How passes run: as graphs; or compiled, of which instructions and sources.

    Both change the cost, and different processors have the same name.
    """
    if model.static and model.static.recordings.active:
        return ", as CUDA graphs"
    widest = instruction_set()
    return f", compiled for {widest.name} ({DIGEST})" if model.compiled and widest else ""


def device_description(device: torch.device) -> str:
    """The machine: GPU name, or CPU name and number of threads."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{_cpu_name()}, {torch.get_num_threads()} threads"


def _cpu_name() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = ""
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1].strip() if found else platform.processor() or platform.machine()


def save_calibration(calibration: Calibration, folder: Path | None = None) -> Path:
    """Write it to `folder`, the product's cache folder by default. Raises ExplorerError."""
    folder = folder or cache_folder() / FOLDER
    path = folder / calibration.key.file_name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}.part")
        part.write_text(calibration.model_dump_json(indent=1) + "\n", encoding="utf-8")
        os.replace(part, path)  # whole or not at all
    except OSError as error:
        raise ExplorerError(
            f"The calibration cannot be saved in {folder} ({error.strerror or error}): free some "
            "disk space or make the folder writable."
        ) from error
    return path


def load_calibration(key: Key, folders: Sequence[Path] = ()) -> Calibration | None:
    """The calibration for `key` from the cache folder or else from `folders`, or None.

    A damaged file, or one of another version, is ignored: it is measured again.
    """
    for folder in (cache_folder() / FOLDER, *folders):
        path = folder / key.file_name
        try:
            if path.stat().st_size > FILE_LIMIT:
                continue
            calibration = Calibration.model_validate(json.loads(path.read_bytes()))
            calibration.candidate_tree  # noqa: B018 - a tree that is none is damage, too
            usable = calibration.auto_trees and calibration.fixed_trees
        except (
            OSError, ValueError, LookupError, ArithmeticError, RecursionError, ExplorerError,
        ):  # fmt: skip
            continue
        if usable and calibration.key == key:
            return calibration
    return None
