"""How trees are written: names, shapes and JSON rank paths, as a person types them."""

from __future__ import annotations

import json

from explorer.decoding.dynamic import DynamicTree
from explorer.decoding.tree import MAX_NODES, ROOT_ONLY, Tree, cartesian, chain, make_tree
from explorer.records.errors import ExplorerError

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
            return chain(int(argument))
        if kind == "dynamic":
            return dynamic(int(argument))
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


def dynamic(nodes: int) -> DynamicTree:
    """The dynamic tree of so many nodes, the root not counted. Raises ExplorerError."""
    if not 1 <= nodes <= MAX_NODES:
        raise ExplorerError(
            f"A dynamic tree has 1 to {MAX_NODES} nodes, not {nodes}: change their number."
        )
    return DynamicTree(nodes)
