"""Reading and writing checkpoints of Medusa and Hydra heads.

Own format: `model.safetensors` with block_weight [K, B, H, H], block_bias [K, B, H], projection
([V_d, H] or [K, V, H], absent for the kind shared), token_map int32 [V_d] and, for Hydra,
path_weight [K(K+1)/2, H, H], beside `config.json` (the fields of HeadsConfig). Where that names a
`projection_from`, projection and token_map lie in the folder of that name beside this one.

Public formats, all with the keys `{head}.{block}.linear.weight`, `{head}.{block}.linear.bias` and
`{head}.{num_blocks}.weight` (the projection):

- `medusa_lm_head.pt` or `.safetensors` of FasterDecoding/Medusa;
- `medusa_lm_head.safetensors` of text-generation-inference, where a missing projection means that
  the heads share the LM head;
- full Medusa checkpoints (v1.0), whose heads lie among the model's weights as `medusa_head.*`.
"""

from __future__ import annotations

import json
import pickle
import re
import zipfile
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError
from safetensors import SafetensorError, safe_open
from torch import Tensor

from explorer.errors import ExplorerError
from explorer.models.folders import write_checkpoint
from explorer.models.heads import HeadsConfig, MedusaHeads
from explorer.models.hub import heads_folder
from explorer.models.hydra import HydraHeads, new_heads

HEAD_FILES = ("model.safetensors", "medusa_lm_head.safetensors", "medusa_lm_head.pt")
BORROWED = ("projection", "token_map")  # what `projection_from` gives
_PUBLIC_KEY = re.compile(r"^(?:medusa_head\.)?(\d+)\.(\d+)\.(linear\.weight|linear\.bias|weight)$")


def save_heads(heads: MedusaHeads, folder: str | Path) -> Path:
    """Write the heads in the own format; an interrupted write leaves the old files whole."""
    elsewhere = BORROWED if heads.config.projection_from else ()
    tensors = {
        name: tensor.detach().cpu().contiguous()
        for name, tensor in heads.state_dict().items()
        if name not in elsewhere
    }
    if "token_map" in tensors:
        tensors["token_map"] = tensors["token_map"].int()
    return write_checkpoint(folder, tensors, heads.config.model_dump(mode="json"), "The heads")


def load_heads(
    folder_or_repo_id: str | Path,
    *,
    device: str | torch.device = "cpu",
    dtype: torch.dtype | None = None,
    lm_head_weight: Tensor | None = None,
    embeddings: Tensor | None = None,
    hidden_size: int | None = None,
    vocab_size: int | None = None,
) -> MedusaHeads:
    """Heads from a local folder or a Hub repo, on `device`, ready for `propose`.

    dtype None keeps the stored dtype. lm_head_weight [V, H] is the base model's LM head: needed
    for heads that share it (it may also be given later, with `heads.use_lm_head`); so are its
    input embeddings [V, H] for Hydra heads (`heads.use_embeddings`). hidden_size and vocab_size,
    where given, are the base model's, and heads that do not match are refused.
    """
    folder = heads_folder(folder_or_repo_id)
    raw = _read_config(folder)
    path = _weights_file(folder, raw)
    tensors = _read_tensors(path)
    if "block_weight" in tensors:
        heads = _from_own(tensors, raw, folder)
    else:
        heads = _from_public(tensors, raw, path, vocab_size)
    _check_base(heads.config, hidden_size, vocab_size, folder)
    heads = heads.to(device=device, dtype=dtype or _stored_dtype(tensors))
    if heads.config.kind == "shared" and lm_head_weight is not None:
        heads.use_lm_head(lm_head_weight)
    if isinstance(heads, HydraHeads) and embeddings is not None:
        heads.use_embeddings(embeddings)
    return heads.eval().requires_grad_(False)


def _stored_dtype(tensors: dict[str, Tensor]) -> torch.dtype:
    return next(t.dtype for t in tensors.values() if t.is_floating_point())


def _read_config(folder: Path) -> dict[str, Any]:
    path = folder / "config.json"
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


def _weights_file(folder: Path, raw: dict[str, Any]) -> Path:
    """The one file or shard index that holds the heads."""
    # A full checkpoint may hold medusa_lm_head files beside the model's own weights.
    names = HEAD_FILES if "num_heads" in raw else (*HEAD_FILES[1:], HEAD_FILES[0])
    for name in (*names, "model.safetensors.index.json", "pytorch_model.bin"):
        if (folder / name).is_file():
            return folder / name
    raise ExplorerError(
        f"There are no head weights in {folder}: it should hold one of {', '.join(HEAD_FILES)}."
    )


def _read_tensors(path: Path) -> dict[str, Tensor]:
    """The head tensors in the file; of a full model's weights only `medusa_head.*` is read."""
    try:
        if path.name.endswith(".index.json"):
            shards = json.loads(path.read_text(encoding="utf-8"))["weight_map"]
            # Path(...).name: an index must not point outside its own folder.
            names = {Path(f).name for key, f in shards.items() if key.startswith("medusa_head.")}
            found: dict[str, Tensor] = {}
            for name in sorted(names):
                found |= _read_safetensors(path.with_name(name))
            return found
        if path.suffix == ".safetensors":
            return _read_safetensors(path)
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise ExplorerError(
            f"{path} holds more than tensors and was not opened, because it could run code: "
            "ask for the heads as safetensors."
        ) from error
    except (
        OSError, EOFError, ValueError, KeyError, AttributeError, RuntimeError, SafetensorError,
        zipfile.BadZipFile,
    ) as error:  # fmt: skip
        raise ExplorerError(
            f"{path} cannot be read as head weights ({type(error).__name__}): "
            "the file is damaged or incomplete, so download it again."
        ) from error
    tensors = loaded if isinstance(loaded, dict) else {}
    return {k: v for k, v in tensors.items() if isinstance(k, str) and isinstance(v, Tensor)}


def _read_safetensors(path: Path) -> dict[str, Tensor]:
    with safe_open(path, framework="pt") as file:
        names = list(file.keys())
        inside_model = [n for n in names if n.startswith("medusa_head.")]
        return {n: file.get_tensor(n) for n in inside_model or names}


def _from_own(tensors: dict[str, Tensor], raw: dict[str, Any], folder: Path) -> MedusaHeads:
    try:
        config = HeadsConfig.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "as a whole"
        raise ExplorerError(
            f"The heads' config.json in {folder} is wrong at {where} ({first['msg']}): "
            "download or export the heads again."
        ) from error
    if config.projection_from:
        tensors = tensors | _borrowed(folder.parent / config.projection_from)
    wanted = {"block_weight", "block_bias"}
    wanted |= {"path_weight"} if config.architecture == "hydra" else set()
    wanted |= {"projection"} if config.kind != "shared" else set()
    wanted |= {"token_map"} if config.kind == "draft_vocab" else set()
    _require(tensors, wanted, folder)
    return _assemble(config, tensors, folder)


def _borrowed(folder: Path) -> dict[str, Tensor]:
    """Projection and token map of the heads in `folder`."""
    if not (folder / HEAD_FILES[0]).is_file():
        raise ExplorerError(
            f"These heads use the projection of the heads in {folder}, which is not there: put "
            "both folders beside each other."
        )
    found = _read_tensors(folder / HEAD_FILES[0])
    return {name: found[name] for name in BORROWED if name in found}


def _from_public(
    tensors: dict[str, Tensor], raw: dict[str, Any], path: Path, vocab_size: int | None
) -> MedusaHeads:
    """Stack per-head tensors `{head}.{block}.linear.*` and `{head}.{num_blocks}.weight`."""
    parts: dict[tuple[int, int, str], Tensor] = {}
    for name, tensor in tensors.items():
        match = _PUBLIC_KEY.match(name)
        if match:
            parts[int(match[1]), int(match[2]), match[3]] = tensor
    if not parts:
        raise ExplorerError(
            f"{path} holds no Medusa heads (no key like 0.0.linear.weight or medusa_head.*): "
            "choose a checkpoint with heads."
        )
    K = 1 + max(head for head, _, _ in parts)
    B = 1 + max((block for _, block, what in parts if what != "weight"), default=-1)
    named_heads = raw.get("medusa_num_heads")
    if type(named_heads) is int and 0 < named_heads < K:
        K = named_heads  # heads are independent, so the first ones can be used alone
    own = any(what == "weight" for _, _, what in parts)
    keys = {f"{k}.{b}.linear.{w}" for k in range(K) for b in range(B) for w in ("weight", "bias")}
    keys |= {f"{k}.{B}.weight" for k in range(K)} if own else set()
    named = {f"{k}.{b}.{what}": t for (k, b, what), t in parts.items()}
    _require(named, keys, path)
    H = next(iter(named[k] for k in sorted(keys))).shape[-1]
    config = HeadsConfig(
        kind="own" if own else "shared",
        num_heads=K,
        num_blocks=B,
        hidden_size=H,
        vocab_size=len(named[f"0.{B}.weight"]) if own else _vocabulary(raw, vocab_size),
        base_model=str(raw.get("base_model_name_or_path") or raw.get("_name_or_path") or ""),
    )
    try:
        return _assemble(config, _stacked(named, config), path)
    except RuntimeError as error:  # torch.stack of unequal shapes
        raise ExplorerError(
            f"The heads in {path} differ in shape: download the checkpoint again."
        ) from error


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
    dtype = _stored_dtype(named)

    def blocks(what: str, shape: tuple[int, ...]) -> Tensor:
        if B == 0:
            return torch.zeros(K, 0, *shape, dtype=dtype)
        each = [torch.stack([named[f"{k}.{b}.linear.{what}"] for b in range(B)]) for k in range(K)]
        return torch.stack(each)

    tensors = {"block_weight": blocks("weight", (H, H)), "block_bias": blocks("bias", (H,))}
    if config.kind == "own":
        tensors["projection"] = torch.stack([named[f"{k}.{B}.weight"] for k in range(K)])
    return tensors


def _require(tensors: dict[str, Tensor], wanted: set[str], place: Path) -> None:
    missing = sorted(wanted - tensors.keys())
    if missing:
        raise ExplorerError(
            f"The heads in {place} are incomplete ({missing[0]} and {len(missing) - 1} more are "
            "missing): download or export them again."
        )


def _assemble(config: HeadsConfig, tensors: dict[str, Tensor], place: Path) -> MedusaHeads:
    """Heads around the given tensors, every shape checked."""
    with torch.device("meta"):  # no memory is taken for weights that are replaced at once
        heads = new_heads(config)
    expected = {n: tuple(t.shape) for n, t in heads.state_dict().items() if n != "token_map"}
    for name, shape in expected.items():
        if tuple(tensors[name].shape) != shape:
            raise ExplorerError(
                f"The heads in {place} do not match their config.json: {name} has shape "
                f"{list(tensors[name].shape)} instead of {list(shape)}; export them again."
            )
        if not torch.isfinite(tensors[name]).all():
            raise ExplorerError(
                f"The heads in {place} hold values that are no numbers ({name}): train them again "
                "with a lower learning rate, or download them again."
            )
    token_map = tensors.get("token_map") if config.kind == "draft_vocab" else None
    heads.load_state_dict({n: tensors[n] for n in expected}, strict=False, assign=True)
    if token_map is not None:
        heads.set_token_map(token_map)
    return heads


def _check_base(
    config: HeadsConfig, hidden_size: int | None, vocab_size: int | None, folder: Path
) -> None:
    """Refuse heads of another base model before their first product fails."""
    for what, theirs, ours in (
        ("hidden states of size", config.hidden_size, hidden_size),
        ("a vocabulary of size", config.vocab_size, vocab_size),
    ):
        if ours is not None and theirs != ours:
            made_for = f" (made for {config.base_model})" if config.base_model else ""
            raise ExplorerError(
                f"The heads in {folder}{made_for} expect {what} {theirs}, but this base model "
                f"has {ours}: choose heads that were trained for this base model."
            )
