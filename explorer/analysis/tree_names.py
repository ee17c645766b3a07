"""How trees are written: names, shapes and JSON rank paths, as a person types them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Sequence

from explorer.decoding.dynamic import DynamicTree
from explorer.decoding.tree import ROOT_ONLY, RankPath, Tree, chain
from explorer.records.errors import ExplorerError

MAX_NODES = 512
MEASURED_TREES = ("auto", "fixed")  # names that are resolved from the machine's calibration


def parse_tree(text: str) -> Tree | DynamicTree:
    """A tree from `chain:K`, `cartesian:S1,S2,…`, `dynamic:N`, `root` or JSON rank paths.

    Raises ExplorerError with what to write instead.
    """
    text = text.strip()
    kind, _, argument = text.partition(":")
    try:
        if text == "root":
            return ROOT_ONLY
        if kind == "chain":
            return _chain(int(argument))
        if kind == "dynamic":
            return _dynamic(int(argument))
        if kind == "cartesian":
            return cartesian([int(width) for width in argument.split(",")])
        if text.startswith("["):
            return make_tree(_rank_paths(json.loads(text)))
    except (ValueError, RecursionError) as error:
        raise ExplorerError(f"Cannot read the tree '{text[:60]}': {HOW_TO_WRITE}.") from error
    raise ExplorerError(f"There is no tree '{text[:60]}': {HOW_TO_WRITE}.")


HOW_TO_WRITE = (
    "write auto, fixed, root, chain:3, cartesian:3,2,1, dynamic:8 or rank paths like "
    "[[0], [1], [0, 0]]"
)


def _rank_paths(value: object) -> list[list[int]]:
    if not isinstance(value, list) or not all(
        isinstance(path, list) and all(type(rank) is int for rank in path) for path in value
    ):
        raise ValueError("not a list of lists of whole numbers")
    return value


def _chain(length: int) -> Tree:
    if not 1 <= length <= MAX_NODES:
        raise ExplorerError(f"A chain has 1 to {MAX_NODES} nodes, not {length}: change its length.")
    return chain(length)


def _dynamic(nodes: int) -> DynamicTree:
    if not 1 <= nodes <= MAX_NODES:
        raise ExplorerError(
            f"A dynamic tree has 1 to {MAX_NODES} nodes, not {nodes}: change their number."
        )
    return DynamicTree(nodes)


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
