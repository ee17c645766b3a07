"""Hydra (Ankner et al. 2024, arXiv 2402.05109): Medusa whose heads see the path they continue.

The node at rank path (r₁, …, r_d) holds the rank-r_d prediction of head d, given the tokens from
the root down to the node's parent. So the tree is filled depth by depth, one pass of head d over
all nodes that have children there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import torch

from explorer.decoding.dynamic import DynamicHydraDrafter, DynamicTree
from explorer.decoding.filling import cut
from explorer.decoding.kit import Kit
from explorer.decoding.loop import Context, Draft, Drafter, Stopwatch
from explorer.decoding.medusa import MedusaDrafter
from explorer.decoding.tree import Tree
from explorer.heads.hydra import HydraHeads
from explorer.records.settings import DecodeSettings


def make_drafter(kit: Kit, settings: DecodeSettings) -> Drafter:
    """The drafter for the tree asked for."""
    if isinstance(kit.tree, DynamicTree):
        return DynamicHydraDrafter(kit.heads, kit.tree)
    return HydraDrafter(kit.heads, kit.tree)


class HydraDrafter(MedusaDrafter):
    """Medusa's drafter over Hydra heads, which are asked depth by depth."""

    heads: HydraHeads

    def draft(self, context: Context, clock: Stopwatch) -> Draft:
        """The tree, cut where the text must end, with the heads' tokens at its nodes."""
        tree = cut(self.tree, context.max_depth)
        tokens = torch.full((tree.n,), context.root)
        probs, below = torch.ones(tree.n), {}
        for level in levels(tree):
            ids, guessed = self.heads.propose_next(context.hidden, tokens[level.paths], self.top)
            ids, guessed = ids.cpu(), guessed.cpu()  # [m, top]
            tokens[level.children] = ids[level.parent, level.rank]
            probs[level.children] = guessed[level.parent, level.rank]
            below |= {row: (ids[i], guessed[i]) for i, row in enumerate(level.rows)}
        clock.lap("heads")
        return Draft(tree, tokens, probs, below=below)


@dataclass(frozen=True)
class Level:
    """The nodes of one depth that have children, and these children.

    rows      row of each of the m parents
    paths     [m, depth + 1] rows from the root down to each parent
    children  [c] rows of all their children
    parent    [c] index among the m parents; rank [c] of the child among its parent's predictions
    """

    rows: list[int]
    paths: torch.Tensor
    children: torch.Tensor
    parent: torch.Tensor
    rank: torch.Tensor


@lru_cache(maxsize=256)
def levels(tree: Tree) -> tuple[Level, ...]:
    """What has to be drafted, depth by depth."""
    found = []
    for depth in range(tree.depth):
        rows = [row for row in range(tree.n) if tree.depths[row] == depth and tree.children[row]]
        children = [child for row in rows for child in tree.children[row]]
        found.append(
            Level(
                rows=rows,
                paths=torch.tensor([tree.path_to(row) for row in rows]),
                children=torch.tensor(children),
                parent=torch.tensor([i for i, row in enumerate(rows) for _ in tree.children[row]]),
                rank=tree.ranks[children],
            )
        )
    return tuple(found)
