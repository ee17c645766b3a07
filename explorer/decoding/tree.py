"""Candidate trees: a shape (rank paths) and everything that follows from it.

A node is identified by its rank path, never by its token: two nodes may hold the same token
under different parents. Row 0 is the root; row i ≥ 1 is the i-th rank path, parents first
(Medusa, arXiv 2401.10774, section 2.1.2: tree attention).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import torch

from explorer.records.errors import ExplorerError

MAX_NODES = 512
RankPath = tuple[int, ...]


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


def make_tree(paths: Iterable[Sequence[int]], name: str = "custom") -> Tree:
    """A validated tree from rank paths in any order.

    Raises ExplorerError for a path that is empty, repeated, negative or without its parent, and
    for more than 512 nodes.
    """
    listed = [tuple(path) for path in paths]
    if len(listed) > MAX_NODES:
        raise ExplorerError(
            f"The tree has {len(listed)} nodes; at most {MAX_NODES} are allowed: use a smaller one."
        )
    known = set(listed)
    if len(known) < len(listed):
        twice = next(path for path in listed if listed.count(path) > 1)
        raise ExplorerError(f"The tree lists {_shown(twice)} twice; list every rank path once.")
    for path in listed:
        if not path or any(rank < 0 for rank in path):
            raise ExplorerError(
                f"{_shown(path)} is no rank path: give one rank (0, 1, …) per depth."
            )
        if len(path) > 1 and path[:-1] not in known:
            raise ExplorerError(
                f"The tree lists {_shown(path)} but not its parent {_shown(path[:-1])}: add it."
            )
    return Tree(tuple(listed), name)


def _shown(path: RankPath) -> str:
    return str(list(path[:12])) if len(path) <= 12 else f"{list(path[:12])} …"


@lru_cache(maxsize=128)
def chain(length: int) -> Tree:
    """The top-1 prediction of each of the first `length` heads: one path, no branches."""
    if not 1 <= length <= MAX_NODES:
        raise ExplorerError(f"A chain has 1 to {MAX_NODES} nodes, not {length}: change its length.")
    return cartesian([1] * length, f"chain:{length}")


def cartesian(widths: Sequence[int], name: str | None = None) -> Tree:
    """Every combination of the top `widths[d]` predictions of head d+1 (Medusa, section 2.1.2)."""
    total, level = 0, 1
    for width in widths:
        if width < 1:
            raise ExplorerError("Every width of a Cartesian tree must be at least 1.")
        level *= width
        total += level
        if total > MAX_NODES:
            raise ExplorerError(
                f"A Cartesian tree of these widths has {total} nodes or more; at most {MAX_NODES} "
                "are allowed: use fewer or smaller widths."
            )
    paths = [
        path
        for depth in range(1, len(widths) + 1)
        for path in itertools.product(*map(range, widths[:depth]))
    ]
    return Tree(tuple(paths), name or f"cartesian:{','.join(map(str, widths))}")


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
