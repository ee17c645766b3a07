"""Heads as they are decoded with: beside the trees that this machine is fastest with."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.analysis.cost_curve import nearest_length
from explorer.decoding.dynamic import DynamicTree
from explorer.decoding.tree import Tree
from explorer.heads.heads import MedusaHeads


@dataclass(frozen=True)
class HeadSet:
    """Heads, where they came from, and the trees that this machine decodes fastest with.

    By the context length in tokens that they are best at: `auto_trees` choose their nodes anew in
    every step, `fixed_trees` do not.
    """

    heads: MedusaHeads
    name: str
    auto_trees: dict[int, Tree | DynamicTree]
    fixed_trees: dict[int, Tree]

    def auto_tree(self, context_length: int) -> Tree | DynamicTree:
        """The tree `auto` for a context of so many tokens."""
        return self.auto_trees[nearest_length(self.auto_trees, context_length)]

    def fixed_tree(self, context_length: int) -> Tree:
        """The tree `fixed` for a context of so many tokens."""
        return self.fixed_trees[nearest_length(self.fixed_trees, context_length)]
