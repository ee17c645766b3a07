"""From a user's choice of model and heads to a Lab that is ready to run."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

from explorer.analysis.calibration import shared_costs
from explorer.heads.checkpoints import load_heads
from explorer.heads.lighter import lighten
from explorer.heads.recorded import RecordedDrafts
from explorer.lab.lab import Lab
from explorer.measuring.bandwidth import matmul_rate, read_bandwidth
from explorer.measuring.calibration import CurveMeter, auto_calibration
from explorer.measuring.head_set import HeadSet
from explorer.measuring.selfcheck import check_architecture, check_model
from explorer.models.adapters import adapter_folder, serve_adapter
from explorer.models.base import LanguageModel
from explorer.models.draft import load_draft
from explorer.models.early_exit import require_same_tokenizer
from explorer.models.llama_pass import llama_pass
from explorer.models.loader import load_model
from explorer.models.memory_full import full_memory_explained
from explorer.records.errors import ExplorerError
from explorer.records.progress import Progress, quiet
from explorer.records.proxies import settle_proxies
from explorer.records.settings import HeadsDtype
from explorer.weights.folders import CONFIG
from explorer.weights.places import require_places
from explorer.weights.presets import NO_HEADS, ModelOptions, model_options


def load(
    preset: str = "default",
    model: str | None = None,
    heads: str | None = None,
    backend: str = "auto",
    device: str = "auto",
    adapter: str | None = None,
    draft: str | None = None,
    num_heads: int | None = None,
    heads_dtype: HeadsDtype = "auto",
    heads_vocabulary: int | None = None,
    progress: Progress | None = None,
) -> Lab:
    """A model with its heads, ready to run.

    `preset` names one of explorer.weights.presets; `model` (a Hub id, a folder or a GGUF file) and
    `heads` replace it; `adapter` is a folder with a LoRA adapter, by default the one beside
    the heads. `draft` is what the method draft-model drafts with: a folder of 'train draft',
    or any model with the same tokenizer. `num_heads` takes the first heads only;
    `heads_dtype` "nf4" and `heads_vocabulary` make their projection lighter. Raises ExplorerError,
    one clear sentence with the remedy.
    """
    settle_proxies()
    report = progress or quiet
    options = model_options(
        preset=preset, model=model, heads=heads, backend=backend, device=device, adapter=adapter,
        num_heads=num_heads, heads_dtype=heads_dtype, heads_vocabulary=heads_vocabulary,
    )  # fmt: skip
    require_places(options)
    base = _checked_model(options, progress)
    lab = Lab(base, notes=base.notes, read_bandwidth=read_bandwidth(base.device))
    if base.backend != "int4":  # integer products have no rate of floating-point operations
        lab.matmul_rate = matmul_rate(base.device, base.network.dtype)
    if not options.heads_sources:
        lab.notes.append("No heads: no Medusa decoding.")
    curves = CurveMeter(base, progress)
    for source in options.heads_sources:
        report("Loading the heads", None)
        with full_memory_explained("loading the heads and measuring them"):
            _add_heads(lab, source, curves, options)
    if draft is not None:
        report("Loading the draft model", None)
        lab.draft = _draft(draft, base, backend, device)
    return lab


def _checked_model(options: ModelOptions, progress: Progress | None) -> LanguageModel:
    """The base model with its adapter, and what the start-up check found out about its passes."""
    report = progress or quiet
    base = load_model(options, progress, check_architecture)
    folder = adapter_folder(options.adapter, options.heads_sources)
    if folder is not None:
        report("Tuning the model with its adapter", None)
        serve_adapter(base, folder)
        base.compiled = llama_pass(base.network)
    report("Checking the model", None)
    with full_memory_explained("checking the model"):
        check_model(base)
    return base


def with_heads(lab: Lab, source: str, progress: Progress | None = None) -> Lab:
    """A lab of the same base model with the heads from a folder or Hub repo alone.

    The given lab keeps its own. Raises ExplorerError.
    """
    report = progress or quiet
    report(f"Loading {_short(source)}", None)
    other = dataclasses.replace(lab, heads={}, notes=[])
    _add_heads(other, source, CurveMeter(lab.model, progress), model_options())
    return other


def _draft(source: str, base: LanguageModel, backend: str, device: str) -> LanguageModel:
    """A draft checkpoint of this base model, or any model that has its tokenizer."""
    folder = Path(source).expanduser()
    if _is_draft_checkpoint(folder):
        return load_draft(folder, base)
    options = model_options(model=source, heads=NO_HEADS, backend=backend, device=device)
    draft = load_model(options, inspect=check_architecture)
    check_model(draft)
    require_same_tokenizer(base, draft)
    return draft


def _is_draft_checkpoint(folder: Path) -> bool:
    """Whether the folder holds what 'train draft' writes, not a whole model."""
    try:
        return "num_layers" in json.loads((folder / CONFIG).read_bytes())
    except (OSError, ValueError):
        return False


def _add_heads(lab: Lab, source: str, curves: CurveMeter, options: ModelOptions) -> None:
    base = lab.model
    heads = load_heads(source, base, num_heads=options.num_heads)
    tokens = range(base.vocab_size if options.heads_vocabulary else 0)
    pieces = [lab.pieces[token].text or "" for token in tokens]
    lighten(heads, pieces, options.heads_vocabulary, options.heads_dtype == "nf4")
    lab.notes += heads.origin.differences if heads.origin else ()
    heads.pack()
    if base.static is not None:
        heads.recorded = RecordedDrafts(heads, base.static.recordings)
    architecture = heads.config.architecture
    if architecture in lab.heads:
        raise ExplorerError(
            f"{lab.heads[architecture].name} and {_short(source)} are both "
            f"{architecture.title()} heads: give one of each kind."
        )
    folder = source if Path(source).is_dir() else None
    calibration = auto_calibration(base, heads, folder, curves)
    lab.notes.append(f"{architecture.title()}: {calibration.sentence}")
    lab.heads[architecture] = HeadSet(
        heads,
        _short(source),
        calibration.auto_trees,
        calibration.fixed_trees,
        shared_costs(calibration, {}),
    )


def _short(source: str) -> str:
    return "/".join(source.rstrip("/").split("/")[-2:])
