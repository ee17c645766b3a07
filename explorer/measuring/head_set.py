"""Heads with the trees that are fastest on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from explorer.analysis.cost_curve import nearest_length
from explorer.analysis.cost_file import CostFile
from explorer.decoding.dynamic import DynamicTree
from explorer.decoding.tree import Tree
from explorer.heads.heads import MedusaHeads


@dataclass(frozen=True)
class HeadSet:
    """Heads, their source, and the trees that are fastest on this machine.

    The trees are given by the context length in tokens that they are best at: `auto_trees` choose
    their nodes again in every step, `fixed_trees` do not. `costs` are what a step costs here,
    where that was measured.
    """

    heads: MedusaHeads
    name: str
    auto_trees: Mapping[int, Tree | DynamicTree]
    fixed_trees: Mapping[int, Tree]
    costs: CostFile | None = None

    def auto_tree(self, context_length: int) -> Tree | DynamicTree:
        """The tree `auto` for a context of this many tokens."""
        return self.auto_trees[nearest_length(self.auto_trees, context_length)]

    def fixed_tree(self, context_length: int) -> Tree:
        """The tree `fixed` for a context of this many tokens."""
        return self.fixed_trees[nearest_length(self.fixed_trees, context_length)]
