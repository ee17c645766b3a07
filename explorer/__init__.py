"""Medusa Explorer: see speculative decoding happen.

    import explorer
    lab = explorer.load()
    trace = lab.run_race("Why is the sky blue?", max_new_tokens=64)
    trace.figure_race()
    trace.save("sky.json.gz")

docs/notebook.md explains the rest.

Names are imported when first used, so that torch is imported only for a model.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from explorer.records.version import __version__

if TYPE_CHECKING:
    from explorer.lab.lab import Lab
    from explorer.lab.loading import load
    from explorer.records.errors import ExplorerError
    from explorer.records.schema import Trace
    from explorer.records.settings import DecodeSettings

__all__ = ["DecodeSettings", "ExplorerError", "Lab", "Trace", "__version__", "load"]

_HOMES = {
    "DecodeSettings": "explorer.records.settings",
    "ExplorerError": "explorer.records.errors",
    "Lab": "explorer.lab.lab",
    "Trace": "explorer.records.schema",
    "load": "explorer.lab.loading",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'explorer' has no attribute '{name}'")
    from explorer.figures.notebook import attach

    attach()  # so that notebooks can show traces
    return getattr(importlib.import_module(_HOMES[name]), name)
