"""A folder that vLLM serves: the heads in its layout, the base model where it must be written, a
draft model for serving two models, and serve.sh, which starts either, or plain decoding."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path

from explorer.heads.checkpoints import load_heads
from explorer.heads.export import Exported, export_heads
from explorer.lab.exporting import export
from explorer.measuring.selfcheck import check_architecture
from explorer.models.adapters import adapter_folder, serve_adapter
from explorer.models.base import LanguageModel
from explorer.models.draft import DEFAULT_DRAFT, first_layers, load_draft
from explorer.models.loader import load_model, quiet_libraries
from explorer.records.errors import ExplorerError
from explorer.records.progress import Progress, quiet
from explorer.serving.script import Served, serve_script
from explorer.weights.folders import CONFIG
from explorer.weights.presets import ModelOptions
from explorer.weights.sources import find_weights

HEADS, MODEL, DRAFT, SCRIPT = "heads", "model", "draft", "serve.sh"
DRAFT_TOKENS = 3


def export_for_vllm(
    options: ModelOptions,
    folder: str | Path,
    *,
    token_map: bool = False,
    tensor_parallel: int = 1,
    draft: str | None = None,
    progress: Progress | None = None,
) -> Exported:
    """Write the whole folder.

    The base model is written in bf16 where vLLM could not read it as it is: from a GGUF, and where
    an adapter has changed it; any other is named. `token_map`: keep a vocabulary of the heads' own.
    `draft` is a folder of 'train draft', or any model with the same tokenizer; without it the
    product's own draft is written for the model that it was made for. Raises ExplorerError.
    """
    folder, report = Path(folder).expanduser(), progress or quiet
    base = _dense_base(options, progress) if _must_be_written(options, draft) else None
    if base is None:
        heads = export(options, "vllm", folder / HEADS, not token_map, progress)
    else:
        joined = load_heads(options.heads_sources[0], base, num_heads=options.num_heads)
        heads = export_heads(joined, folder / HEADS, "vllm", not token_map)
    files, notes = [f"{HEADS}/{name}" for name in heads.files], list(heads.notes)
    written = base is not None and _is_changed(options)
    if base is not None and written:
        report("Writing the base model", None)
        files += _write_network(base.network, base, folder / MODEL)
        notes.append("The base model was written in bf16: the numbers that its codes stand for.")
    drafts, drafted = _draft(draft, base, folder / DRAFT)
    config = json.loads((folder / HEADS / CONFIG).read_text(encoding="utf-8"))
    served = Served(
        model=MODEL if written else _reference(options),
        name=_name(options),
        heads=HEADS,
        num_heads=config["num_heads"],
        draft=drafts,
        draft_tokens=DRAFT_TOKENS,
        dtype="bfloat16" if written else "auto",
        tensor_parallel=tensor_parallel,
    )
    _write_script(folder / SCRIPT, serve_script(served))
    return Exported("vllm", [*files, *drafted, SCRIPT], notes)


def _is_changed(options: ModelOptions) -> bool:
    """Whether vLLM could not read the base model as it lies: a GGUF, or tuned by an adapter."""
    tuned = adapter_folder(options.adapter, options.heads_sources) is not None
    return tuned or find_weights(options).gguf is not None


def _must_be_written(options: ModelOptions, draft: str | None) -> bool:
    """Whether the base model's weights are needed: to write it, or a draft around it."""
    if not options.heads_sources:
        raise ExplorerError("There are no heads to export: name some with --heads.")
    return _is_changed(options) or (draft is not None and _is_trained_draft(draft))


def _dense_base(options: ModelOptions, progress: Progress | None) -> LanguageModel:
    dense = options.model_copy(update={"backend": "bf16"})
    base = load_model(dense, progress, check_architecture)
    adapter = adapter_folder(options.adapter, options.heads_sources)
    if adapter is not None:
        serve_adapter(base, adapter)
    return base


def _reference(options: ModelOptions) -> str:
    """A Hub id as it is; a folder by its whole path, since serve.sh has its own."""
    source = Path(options.model_source).expanduser()
    return str(source.resolve()) if source.is_dir() else options.model_source


def _name(options: ModelOptions) -> str:
    """What requests call the model: letters, digits and a few signs."""
    path, _, file = options.model_source.partition(":")
    name = Path(file or path).expanduser().resolve().name.removesuffix(".gguf")
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-") or "model"


def _is_trained_draft(source: str) -> bool:
    with contextlib.suppress(OSError, ValueError):
        return "num_layers" in json.loads((Path(source).expanduser() / CONFIG).read_bytes())
    return False


def _draft(
    source: str | None, base: LanguageModel | None, folder: Path
) -> tuple[str | None, list[str]]:
    """How serve.sh names the draft model, None for none, and the files that were written."""
    if source is not None and not _is_trained_draft(source):
        path = Path(source).expanduser()
        return (str(path.resolve()) if path.is_dir() else source), []
    if base is None:
        return None, []
    try:
        draft = load_draft(source or DEFAULT_DRAFT, base)
    except ExplorerError:
        if source is not None:
            raise
        return None, []  # the product's own was made for another base model
    assert draft.draft_config is not None  # load_draft reads it
    layers = draft.draft_config.num_layers
    network = first_layers(draft.network, layers).to(base.network.dtype)
    return DRAFT, _write_network(network, base, folder)


def _write_network(network, base: LanguageModel, folder: Path) -> list[str]:
    """A model's folder as transformers writes it, tokenizer included. Raises ExplorerError."""
    try:
        with quiet_libraries():
            network.save_pretrained(folder)
        base.tokenizer.save_pretrained(folder)
        written = sorted(path for path in folder.iterdir() if path.is_file())
        for path in written:
            path.chmod(0o644)  # safetensors writes for the owner alone
    except OSError as error:
        raise ExplorerError(
            f"The model cannot be written to {folder} ({error.strerror or error}): free some disk "
            "space or choose another folder."
        ) from error
    return [f"{folder.name}/{path.name}" for path in written]


def _write_script(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
