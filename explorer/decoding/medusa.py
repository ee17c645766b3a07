"""Medusa (Cai et al. 2024, arXiv 2401.10774): heads on the last hidden state fill a fixed tree.

Head k, reading the hidden state that chose the root, predicts the token k places after the root.
The node at rank path (r₁, …, r_d) holds the rank-r_d prediction of head d (section 2.1.2).
"""

from __future__ import annotations

from functools import lru_cache

import torch

from explorer.decoding.loop import Context, Draft, Stopwatch
from explorer.decoding.tree import Tree, require_fit
from explorer.heads.heads import MedusaHeads

TOP = 16  # predictions a head offers


class MedusaDrafter:
    """Fills the same tree from the heads at every step.

    Raises ExplorerError if the tree is deeper than the heads or wider than their vocabulary.
    """

    def __init__(self, heads: MedusaHeads, tree: Tree) -> None:
        self.heads = heads
        self.tree = tree
        self.top = max(TOP, tree.width)
        require_fit(tree, heads.config.num_heads, heads.config.output_size)

    def draft(self, context: Context, clock: Stopwatch) -> Draft:
        """The tree, cut where the text must end, with the heads' tokens at its nodes."""
        tree = cut(self.tree, context.max_depth)
        ids, probs = (t[0].cpu() for t in self.heads.propose(context.hidden, self.top))  # [K, top]
        clock.lap("heads")
        return filled(tree, context.root, ids, probs)


def filled(
    tree: Tree, root: int, ids: torch.Tensor, probs: torch.Tensor, price: float | None = None
) -> Draft:
    """The tree with the heads' guesses, best first, at its nodes: ids and probs [K, top]."""
    head, rank = tree.depths[1:] - 1, tree.ranks[1:]  # head d, 0-based, fills depth d
    tokens = torch.cat([torch.tensor([root]), ids[head, rank]])
    chances = torch.cat([torch.ones(1), probs[head, rank]])
    return Draft(tree, tokens, chances, (ids, probs), price=price)


@lru_cache(maxsize=256)
def cut(tree: Tree, depth: int) -> Tree:
    """The tree without its nodes deeper than `depth`."""
    if tree.depth <= depth:
        return tree
    return Tree(tuple(path for path in tree.paths if len(path) <= depth), tree.name)
