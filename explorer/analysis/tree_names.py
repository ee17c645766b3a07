"""How trees are written: names, shapes and JSON rank paths, as a person types them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from explorer.decoding.dynamic import DynamicTree
from explorer.decoding.tree import ROOT_ONLY, Tree
from explorer.records.errors import ExplorerError
from explorer.records.rank_paths import (
    HOW_TO_WRITE,
    MAX_NODES,
    cartesian_paths,
    checked_paths,
    parse_paths,
)

MEASURED_TREES = ("auto", "fixed")  # names that are resolved from the machine's calibration
DYNAMIC = "dynamic:"


def parse_tree(text: str) -> Tree | DynamicTree:
    """A tree from `dynamic:N`, or from what `parse_paths` reads (records/rank_paths.py).

    Raises ExplorerError with what to write instead.
    """
    text = text.strip()
    if text.startswith(DYNAMIC):
        return _dynamic(text)
    paths = parse_paths(text)
    return Tree(paths, "custom" if text.startswith(("[", "(")) else text) if paths else ROOT_ONLY


def _dynamic(text: str) -> DynamicTree:
    try:
        nodes = int(text.removeprefix(DYNAMIC))
    except ValueError as error:
        raise ExplorerError(f"Cannot read the tree '{text[:60]}': {HOW_TO_WRITE}.") from error
    if not 1 <= nodes <= MAX_NODES:
        raise ExplorerError(
            f"A dynamic tree has 1 to {MAX_NODES} nodes, not {nodes}: change their number."
        )
    return DynamicTree(nodes)


def make_tree(paths: Iterable[Sequence[int]], name: str = "custom") -> Tree:
    """A validated tree from rank paths in any order. Raises ExplorerError (`checked_paths`)."""
    return Tree(checked_paths(paths), name)


def cartesian(widths: Sequence[int], name: str | None = None) -> Tree:
    """The tree of `cartesian_paths`. Raises ExplorerError."""
    return Tree(cartesian_paths(widths), name or f"cartesian:{','.join(map(str, widths))}")
