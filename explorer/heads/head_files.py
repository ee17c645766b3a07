"""The file of a folder that holds the heads, and its tensors."""

from __future__ import annotations

import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from explorer.heads.head_storage import restored
from explorer.heads.layouts import IN_MODEL, TOKEN_MAP, are_heads
from explorer.records.errors import ExplorerError
from explorer.weights.folders import CONFIG, WEIGHTS

HEAD_FILES = (
    WEIGHTS,
    "medusa_lm_head.safetensors",
    "medusa_lm_head.pt",
    "hydra_lm_head.safetensors",
    "hydra_lm_head.pt",
)
FLOATS = (torch.bfloat16, torch.float16, torch.float32, torch.float64)
WHOLE = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
INDEX = ".index.json"
PICKLED = "pytorch_model.bin"


class BaseModelNeededError(ExplorerError):
    """Heads that cannot be used without their base model, which was not given."""


def read_config(folder: Path) -> dict[str, Any]:
    """The heads' config.json, unchecked. Raises ExplorerError if there is no JSON object."""
    path = folder / CONFIG
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ExplorerError(
            f"There is no config.json in {folder}: choose a folder that holds Medusa heads."
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise ExplorerError(
            f"The heads' config.json in {folder} cannot be read ({error}): download it again."
        ) from error
    if not isinstance(raw, dict):
        raise ExplorerError(f"The heads' config.json in {folder} is not a JSON object.")
    return raw


def base_named(raw: dict[str, Any]) -> str:
    """The base model that a public config.json names; empty where it names none."""
    return str(raw.get("base_model_name_or_path") or raw.get("_name_or_path") or "")


def weights_file(folder: Path, raw: dict[str, Any]) -> Path:
    """The one file or shard index that holds the heads. Raises ExplorerError if there is none."""
    # A full checkpoint may hold medusa_lm_head files beside the model's own weights.
    names = HEAD_FILES if "num_heads" in raw else (*HEAD_FILES[1:], HEAD_FILES[0])
    indexes = [f"{name}{INDEX}" for name in (*names, PICKLED)]
    for name in (*names, *indexes, PICKLED):
        if (folder / name).is_file():
            return folder / name
    raise ExplorerError(
        f"There are no head weights in {folder}: it should hold one of {', '.join(HEAD_FILES)}."
    )


def read_tensors(path: Path) -> dict[str, Tensor]:
    """The head tensors in the file; of a whole model's weights only `medusa_head.*` is read.

    Raises ExplorerError for a damaged file and for one that could run code.
    """
    try:
        if path.name.endswith(INDEX):
            tensors = _read_shards(path)
        elif path.suffix == ".safetensors":
            tensors = _read_safetensors(path)
        else:
            tensors = _read_pickled(path)
    except pickle.UnpicklingError as error:
        raise ExplorerError(
            f"{path} holds more than tensors and was not opened, because it could run code: "
            "ask for the heads as safetensors."
        ) from error
    except (
        OSError, EOFError, ValueError, KeyError, AttributeError, RuntimeError, SafetensorError,
        RecursionError, zipfile.BadZipFile,
    ) as error:  # fmt: skip
        raise ExplorerError(
            f"{path} cannot be read as head weights ({type(error).__name__}): "
            "the file is damaged or incomplete, so download it again."
        ) from error
    _require_dense(tensors, path)
    return tensors


def _require_dense(tensors: dict[str, Tensor], path: Path) -> None:
    """Refuse what a pickle can hold beside numbers in rows, and token ids that are none.

    A tensor that repeats few numbers by strides of 0 would fill the memory once it is copied.
    """
    for name, tensor in tensors.items():
        odd = tensor.is_nested or tensor.layout != torch.strided or tensor.is_meta
        if odd or tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes():
            raise ExplorerError(
                f"{path} holds {name:.80} in a form that is not read (sparse, nested, repeated or "
                "without its numbers): save the heads again as dense tensors, best as safetensors."
            )
        if name.endswith(TOKEN_MAP) and tensor.dtype not in WHOLE:
            dtype = str(tensor.dtype).removeprefix("torch.")
            raise ExplorerError(
                f"The token map in {path} is stored as {dtype}, and token ids are whole numbers: "
                "export the heads again."
            )


def _read_pickled(path: Path) -> dict[str, Tensor]:
    loaded = torch.load(path, map_location="cpu", weights_only=True)
    tensors = loaded if isinstance(loaded, dict) else {}
    return {k: v for k, v in tensors.items() if isinstance(k, str) and isinstance(v, Tensor)}


def _shards(index: Path) -> dict[str, str]:
    """The file of each tensor. Raises ValueError for an index that names none, or itself."""
    listed = json.loads(index.read_text(encoding="utf-8"))
    shards = listed.get("weight_map") if isinstance(listed, dict) else None
    if not isinstance(shards, dict) or not all(
        isinstance(name, str) and not name.endswith(INDEX) for name in shards.values()
    ):
        raise ValueError("no list of files")
    return shards


def _read_shards(index: Path) -> dict[str, Tensor]:
    shards = _shards(index)
    wanted = [key for key in shards if key.startswith(IN_MODEL)]
    wanted = wanted or [key for key in shards if are_heads(key)]
    # Path(...).name: an index must not point outside its own folder.
    names = {Path(shards[key]).name for key in wanted}
    found: dict[str, Tensor] = {}
    for name in sorted(names):
        found |= read_tensors(index.with_name(name))
    return {key: found[key] for key in wanted if key in found}


def _read_safetensors(path: Path) -> dict[str, Tensor]:
    with safe_open(path, framework="pt") as file:
        names = list(file.keys())
        inside_model = [n for n in names if n.startswith(IN_MODEL)]
        return {n: restored(file.get_tensor(n)) for n in inside_model or names}


def require(tensors: dict[str, Tensor], wanted: set[str], place: Path) -> None:
    """Refuse heads that lack some of the expected tensors. Raises ExplorerError."""
    missing = sorted(wanted - tensors.keys())
    if missing:
        raise ExplorerError(
            f"The heads in {place} are incomplete ({missing[0]}{_and_more(missing)} missing): "
            "download or export them again."
        )


def _and_more(names: list[str]) -> str:
    return f" and {len(names) - 1} more are" if len(names) > 1 else " is"


def require_numbers(tensors: dict[str, Tensor], place: Path) -> None:
    """Refuse weights that are stored as something else than floating-point numbers of 16 to 64
    bits. Raises ExplorerError."""
    for name, tensor in tensors.items():
        if not name.endswith("token_map") and tensor.dtype not in FLOATS:
            dtype = str(tensor.dtype).removeprefix("torch.")
            raise ExplorerError(
                f"The heads in {place} are stored as {dtype} ({name}), and heads are computed in "
                "floating point: save them again as bfloat16, float16 or float32."
            )


def stored_dtype(tensors: dict[str, Tensor]) -> torch.dtype:
    """The dtype of the floating-point tensors."""
    return next((t.dtype for t in tensors.values() if t.is_floating_point()), torch.float32)
