"""Medusa Explorer: see speculative decoding happen.

    import explorer
    lab = explorer.load()
    trace = lab.run_race("Why is the sky blue?", max_new_tokens=64)
    trace.figure_race()
    trace.save("sky.json.gz")

docs/notebook.md tells the rest.

Names are imported when first used, so that what needs no model needs no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from explorer.version import __version__

if TYPE_CHECKING:
    from explorer.config import DecodeSettings
    from explorer.engine import Explorer
    from explorer.errors import ExplorerError
    from explorer.loading import load
    from explorer.tracing.schema import Trace

__all__ = ["DecodeSettings", "Explorer", "ExplorerError", "Trace", "__version__", "load"]

_HOMES = {
    "DecodeSettings": "explorer.config",
    "Explorer": "explorer.engine",
    "ExplorerError": "explorer.errors",
    "Trace": "explorer.tracing.schema",
    "load": "explorer.loading",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'explorer' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOMES[name]), name)
