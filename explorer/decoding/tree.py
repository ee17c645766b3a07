"""Candidate trees: a shape (rank paths) and everything that follows from it.

A node is identified by its rank path, never by its token: two nodes may hold the same token
under different parents. Row 0 is the root; row i ≥ 1 is the i-th rank path, parents first
(Medusa, arXiv 2401.10774, section 2.1.2: tree attention).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import torch

from explorer.records.errors import ExplorerError
from explorer.records.rank_paths import RankPath


def rows_of(parents: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Depths [n] int64 and mask [n, n] bool of a tree: a row sees its ancestors and itself.

    parents [n]: row of the parent of each row, parents first; −1 for the root.
    """
    depths, mask = [0] * len(parents), torch.eye(len(parents), dtype=torch.bool)
    for row, parent in enumerate(parents[1:], start=1):
        depths[row] = depths[parent] + 1
        mask[row] |= mask[parent]
    return torch.tensor(depths), mask


def causal_mask(n: int) -> torch.Tensor:
    """The mask [n, n] bool of a text: a row sees those before it and itself."""
    return torch.ones(n, n, dtype=torch.bool).tril()


@dataclass(frozen=True)
class Tree:
    """A tree of n rows: the root and `len(paths)` nodes.

    parents   [n] int64   row of the parent; −1 for the root
    depths    [n] int64   0 for the root; also the row's offset in position ids
    ranks     [n] int64   last element of the rank path; 0 for the root
    mask      [n, n] bool row i sees row j iff j is i or an ancestor of i
    children  per row, the rows of its children in rank order
    """

    paths: tuple[RankPath, ...]
    name: str = "custom"
    parents: torch.Tensor = field(init=False, repr=False, compare=False)
    depths: torch.Tensor = field(init=False, repr=False, compare=False)
    ranks: torch.Tensor = field(init=False, repr=False, compare=False)
    mask: torch.Tensor = field(init=False, repr=False, compare=False)
    children: tuple[tuple[int, ...], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        paths = tuple(sorted(self.paths, key=lambda path: (len(path), path)))
        row = {(): 0} | {path: i for i, path in enumerate(paths, start=1)}
        parents = [-1] + [row[path[:-1]] for path in paths]
        depths, mask = rows_of(parents)
        children: list[list[int]] = [[] for _ in row]
        for i, parent in enumerate(parents[1:], start=1):
            children[parent].append(i)
        put = object.__setattr__  # the dataclass is frozen for its users, not for its maker
        put(self, "paths", paths)
        put(self, "parents", torch.tensor(parents))
        put(self, "depths", depths)
        put(self, "ranks", torch.tensor([0, *(path[-1] for path in paths)]))
        put(self, "mask", mask)
        put(self, "children", tuple(map(tuple, children)))

    @property
    def n(self) -> int:
        """Rows of the verify pass: the nodes and the root."""
        return len(self.paths) + 1

    @property
    def depth(self) -> int:
        """Depth of the deepest node: how many heads the tree needs. 0 for the bare root."""
        return max(map(len, self.paths), default=0)

    @property
    def width(self) -> int:
        """How many predictions of a head the tree needs. 0 for the bare root."""
        return max((max(path) + 1 for path in self.paths), default=0)

    def path_to(self, row: int) -> list[int]:
        """Rows from the root to `row`, both included."""
        return torch.nonzero(self.mask[row]).flatten().tolist()


ROOT_ONLY = Tree((), "root")


@lru_cache(maxsize=512)
def chain(length: int) -> Tree:
    """The top-1 prediction of each of the first `length` heads: one path, no branches."""
    return Tree(tuple((0,) * depth for depth in range(1, length + 1)), f"chain:{length}")


@lru_cache(maxsize=256)
def cut(tree: Tree, depth: int) -> Tree:
    """The tree without its nodes deeper than `depth`."""
    if tree.depth <= depth:
        return tree
    return Tree(tuple(path for path in tree.paths if len(path) <= depth), tree.name)


def require_fit(tree: Tree, num_heads: int, top_k: int) -> None:
    """Raise ExplorerError if the tree is deeper than the heads or wider than their top-k."""
    if tree.depth > num_heads:
        raise ExplorerError(
            f"The tree '{tree.name}' is {tree.depth} deep but only {num_heads} heads are loaded: "
            f"use a tree of depth {num_heads} or less, or load more heads."
        )
    if tree.width > top_k:
        raise ExplorerError(
            f"The tree '{tree.name}' asks for rank {tree.width - 1} but the heads offer only "
            f"{top_k} predictions: use ranks 0 to {top_k - 1}."
        )
