"""From a user's choice of model and heads to an Explorer that is ready to run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from explorer.analysis.calibration import CurveMeter, auto_calibration
from explorer.decoding.selfcheck import check_model
from explorer.engine import Explorer, HeadSet
from explorer.errors import ExplorerError
from explorer.models.adapters import adapter_folder, serve_adapter
from explorer.models.checkpoints import load_heads
from explorer.models.loader import load_model
from explorer.models.presets import model_options

Progress = Callable[[str, float | None], None]


def load(
    preset: str = "default",
    model: str | None = None,
    heads: str | None = None,
    backend: str = "auto",
    device: str = "auto",
    adapter: str | None = None,
    progress: Progress | None = None,
) -> Explorer:
    """A model with its heads, ready to run.

    `preset` names one of explorer.models.presets; `model` (a Hub id, a folder or a GGUF file) and
    `heads` take its place; `adapter` is a folder with a LoRA adapter, by default the one that lies
    with the heads. Raises ExplorerError, one clear sentence with the remedy.
    """
    tell = progress or (lambda text, fraction: None)
    options = model_options(
        preset=preset, model=model, heads=heads, backend=backend, device=device, adapter=adapter
    )
    base = load_model(options, progress)
    folder = adapter_folder(options.adapter, options.heads_sources)
    if folder is not None:
        tell("Tuning the model with its adapter", None)
        serve_adapter(base, folder)
    tell("Checking the model", None)
    check_model(base)
    explorer = Explorer(base, notes=base.notes)
    if not options.heads_sources:
        explorer.notes.append("No heads: no Medusa decoding.")
    curves = CurveMeter(base, progress)
    for source in options.heads_sources:
        tell("Loading the heads", None)
        _add_heads(explorer, source, curves)
    return explorer


def _add_heads(explorer: Explorer, source: str, curves: CurveMeter) -> None:
    base = explorer.model
    heads = load_heads(
        source,
        device=base.device,
        lm_head_weight=base.lm_head.weight,
        embeddings=base.embeddings,
        hidden_size=base.hidden_size,
        vocab_size=base.vocab_size,
    )
    architecture = heads.config.architecture
    if architecture in explorer.heads:
        raise ExplorerError(
            f"{explorer.heads[architecture].name} and {_short(source)} are both "
            f"{architecture.title()} heads: give one of each kind."
        )
    folder = source if Path(source).is_dir() else None
    calibration = auto_calibration(base, heads, folder, curves)
    explorer.notes.append(f"{architecture.title()}: {calibration.sentence}")
    explorer.heads[architecture] = HeadSet(heads, _short(source), calibration.auto_trees)


def _short(source: str) -> str:
    return "/".join(source.rstrip("/").split("/")[-2:])
