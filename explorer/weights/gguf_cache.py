"""A GGUF's configuration and tokenizer, converted once and kept.

transformers can read both from the file, but walks its hundred thousand vocabulary entries to do
so: several seconds at every start. The cache folder keeps the result instead.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from functools import cache
from importlib.metadata import version
from pathlib import Path

from transformers import AutoConfig, AutoTokenizer

from explorer.records.errors import ExplorerError
from explorer.weights.cache import cache_folder, read_folders
from explorer.weights.gguf_file import GGUFFile
from explorer.weights.gguf_settings import FACTORS, Settings
from explorer.weights.gguf_splits import set_split, unsaid_settings
from explorer.weights.gguf_tokenizer import repair_tokenizer


def described(file: GGUFFile) -> Path:
    """A folder with config.json and the tokenizer's files of a GGUF file.

    Raises ExplorerError if the file has a setting that is not supported.
    """
    key = _key(file.path)
    for place in read_folders():
        if (place / "gguf" / key / "config.json").is_file():
            return place / "gguf" / key
    folder = cache_folder() / "gguf" / key
    _describe(file, folder)
    return folder


def _key(path: Path) -> str:
    status = path.stat()
    made_of = (path.resolve(), status.st_size, status.st_mtime_ns, version("transformers"), _code())
    return hashlib.sha256(repr(made_of).encode()).hexdigest()[:24]


@cache
def _code() -> str:
    """A hash of the converting code: results of older code are not used again."""
    digest = hashlib.sha256()
    for module in sorted(Path(__file__).parent.glob("gguf_*.py")):
        digest.update(module.read_bytes())
    return digest.hexdigest()


def _describe(file: GGUFFile, folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Written beside the target and renamed, so that a killed start leaves no partial files.
    scratch = Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        _convert(file, scratch)
        scratch.rename(folder)
    except OSError:
        if not (folder / "config.json").is_file():  # else another process was faster
            raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _convert(file: GGUFFile, scratch: Path) -> None:
    source = {"gguf_file": file.path.name, "trust_remote_code": False}
    factors = {name: file.plain(name) for name in FACTORS if name in file.tensors}
    settings = Settings(file.path, file.metadata, factors)
    settings.require_readable()
    config = AutoConfig.from_pretrained(file.path.parent, **source)
    vars(config).pop("quantization_config", None)  # we read the codes ourselves
    settings.complete(config)
    config.save_pretrained(scratch)
    source |= unsaid_settings(file.metadata)
    _save_tokenizer(file, source, scratch)
    set_split(scratch, file.metadata, file.path.name)
    types = file.metadata.get("tokenizer.ggml.token_type") or []
    repair_tokenizer(scratch, file.metadata["tokenizer.ggml.tokens"], types, file.path.name)


def _save_tokenizer(file: GGUFFile, source: dict, scratch: Path) -> None:
    try:
        AutoTokenizer.from_pretrained(file.path.parent, **source).save_pretrained(scratch)
    except OSError:
        raise
    except Exception as error:  # a vocabulary of another kind, or a part of it is not there
        kind, scores = (file.metadata.get(f"tokenizer.ggml.{key}") for key in ("model", "scores"))
        lacking = " without 'tokenizer.ggml.scores'" if kind == "llama" and not scores else ""
        raise ExplorerError(
            f"The tokenizer of {file.path.name} could not be converted ('tokenizer.ggml.model' is "
            f"'{kind!s:.40}'{lacking}): choose another file of the model, or its safetensors."
        ) from error
