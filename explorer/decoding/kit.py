"""What a method's drafter is made from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from explorer.decoding.dynamic import DynamicTree
from explorer.decoding.tree import Tree
from explorer.heads.heads import MedusaHeads
from explorer.models.base import LanguageModel


@dataclass(frozen=True)
class Kit:
    """A run's model, heads and tree. `draft_model(layers)` gives the draft model asked for."""

    model: LanguageModel
    heads: MedusaHeads | None
    tree: Tree | DynamicTree
    draft_model: Callable[[int], LanguageModel]
