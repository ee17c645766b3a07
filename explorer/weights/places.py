"""Checks the local paths among the options before anything is loaded.

Nothing here imports torch, so the answer comes at once.
"""

from __future__ import annotations

from explorer.records.errors import ExplorerError
from explorer.weights import hub
from explorer.weights.presets import ModelOptions
from explorer.weights.sources import local_weights


def require_places(options: ModelOptions) -> None:
    """Check every local path among the options. Raises ExplorerError; uses no network."""
    if options.chosen_preset is None:
        local_weights(options.model_source)
    for source in options.heads_sources:
        folder = hub.local_heads(source)
        if folder is not None and not (folder / "config.json").is_file():
            raise ExplorerError(
                f"There is no config.json in {folder}: choose a folder that holds Medusa heads."
            )
