"""From a method's name to its drafter.

The descriptions of the methods are in records/methods.py. The file of a method has its name
(`draft-model`: draft_model.py) and a function `make_drafter(inputs, settings)`; it is imported when
a drafter is made.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from explorer.records.methods import Method
from explorer.records.settings import DecodeSettings

if TYPE_CHECKING:
    from explorer.decoding.drafter import Drafter
    from explorer.decoding.dynamic import DynamicTree
    from explorer.decoding.tree import Tree
    from explorer.heads.heads import MedusaHeads
    from explorer.models.base import LanguageModel


@dataclass(frozen=True)
class DrafterInputs:
    """A run's model, heads and tree. `draft_model(layers)` gives the draft model asked for."""

    model: LanguageModel
    heads: MedusaHeads | None
    tree: Tree | DynamicTree
    draft_model: Callable[[int], LanguageModel]


def make_drafter(method: Method, inputs: DrafterInputs, settings: DecodeSettings) -> Drafter:
    """The drafter of a run. Raises ExplorerError where the settings do not fit the method."""
    module = importlib.import_module(f"explorer.decoding.{method.name.replace('-', '_')}")
    return module.make_drafter(inputs, settings)
