"""From a user's choice of heads to files in another format."""

from __future__ import annotations

from pathlib import Path

from explorer.heads.checkpoints import load_heads
from explorer.heads.export import Exported, export_heads
from explorer.heads.head_files import BaseModelNeededError
from explorer.measuring.selfcheck import check_architecture
from explorer.models.loader import load_model
from explorer.records.errors import ExplorerError
from explorer.records.progress import Progress
from explorer.weights.presets import ModelOptions


def export(
    options: ModelOptions,
    to: str,
    folder: str | Path,
    whole_vocabulary: bool = False,
    progress: Progress | None = None,
) -> Exported:
    """Write the first heads that the options name into `folder` in the format `to`.

    The base model is loaded only where the format wants its LM head written. Arguments and errors
    as of `export_heads`.
    """
    if not options.heads_sources:
        raise ExplorerError("There are no heads to export: name some with --heads.")
    source, number = options.heads_sources[0], options.num_heads
    try:
        return export_heads(load_heads(source, num_heads=number), folder, to, whole_vocabulary)
    except BaseModelNeededError:
        base = load_model(options, progress, check_architecture)
    heads = load_heads(source, base, num_heads=number)
    return export_heads(heads, folder, to, whole_vocabulary)
