"""A GGUF's configuration and tokenizer, converted once and kept.

transformers can read both from the file, but walks its hundred thousand vocabulary entries to do
so: several seconds at every start. What it makes of them is kept in the cache folder instead.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from importlib.metadata import version
from pathlib import Path

from transformers import AutoConfig, AutoTokenizer

from explorer.weights.sources import cache_folder


def described(path: Path) -> Path:
    """A folder with config.json and the tokenizer's files of the GGUF at `path`."""
    folder = cache_folder() / "gguf" / _key(path)
    if not (folder / "config.json").is_file():
        _describe(path, folder)
    return folder


def _key(path: Path) -> str:
    status = path.stat()
    made_of = (path.resolve(), status.st_size, status.st_mtime_ns, version("transformers"))
    return hashlib.sha256(repr(made_of).encode()).hexdigest()[:24]


def _describe(path: Path, folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Written beside the target and renamed, so that a killed start leaves nothing half-made.
    scratch = Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name).save_pretrained(scratch)
        config = AutoConfig.from_pretrained(path.parent, gguf_file=path.name)
        vars(config).pop("quantization_config", None)  # we read the codes ourselves
        config.save_pretrained(scratch)
        scratch.rename(folder)
    except OSError:
        if not (folder / "config.json").is_file():  # else another process was faster
            raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
