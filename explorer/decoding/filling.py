"""What all drafters of heads do: give the nodes of a tree their tokens, cut where the text ends."""

from __future__ import annotations

from functools import lru_cache

import torch

from explorer.decoding.loop import Draft
from explorer.decoding.tree import Tree

TOP = 16  # predictions a head offers


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
