"""Shapes of candidate trees as rank paths, without a tensor: what they are and how they are named.

A rank path says which prediction of each head leads to a node: (0, 2) is the third prediction of
head 2 after the first of head 1.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Sequence
from functools import cache

from explorer.records.errors import ExplorerError
from explorer.records.paths import ASSETS

MAX_NODES = 512
MAX_RANKS = 1 << 24  # no vocabulary has more tokens (heads_config.py)
RankPath = tuple[int, ...]
HOW_TO_WRITE = (
    "write auto, fixed, root, chain:3, cartesian:3,2,1, dynamic:8, a published tree such as "
    "mc_sim_7b_63, or rank paths like [[0], [1], [0, 0]]"
)
PUBLISHED_FILE = ASSETS / "trees" / "published.json"


def cartesian_counts(widths: Sequence[int]) -> tuple[int, int]:
    """Paths Π s_i and nodes Σ Π s_j of the tree of these widths, the root not counted."""
    levels = list(itertools.accumulate(widths, lambda a, b: a * b))
    return (levels[-1] if levels else 0), sum(levels)


@cache
def published_trees() -> dict[str, tuple[RankPath, ...]]:
    """Trees of published engines by name, in their authors' order."""
    listed = json.loads(PUBLISHED_FILE.read_bytes())["trees"]
    return {name: tuple(map(tuple, paths)) for name, paths in listed.items()}


def published_source() -> str:
    """Where the published trees are from."""
    return json.loads(PUBLISHED_FILE.read_bytes())["source"]


def cartesian_paths(widths: Sequence[int]) -> tuple[RankPath, ...]:
    """Every combination of the top `widths[d]` predictions of head d+1 (Medusa, section 2.1.2).

    Raises ExplorerError for a width below 1 and for more than MAX_NODES nodes.
    """
    if any(width < 1 for width in widths):
        raise ExplorerError("Every width of a Cartesian tree must be at least 1.")
    paths, nodes = cartesian_counts(widths)
    if nodes > MAX_NODES:
        many = f"{paths:,} paths and {nodes:,} nodes" if nodes < 1e12 else "over 10¹² nodes"
        raise ExplorerError(
            f"A Cartesian tree of these widths has {many}; at most {MAX_NODES} nodes are allowed: "
            "use fewer or smaller widths."
        )
    levels = (map(range, widths[:depth]) for depth in range(1, len(widths) + 1))
    return tuple(path for level in levels for path in itertools.product(*level))


def checked_paths(paths: Iterable[Sequence[int]]) -> tuple[RankPath, ...]:
    """Rank paths that make a tree, as they were given.

    Raises ExplorerError for a path that is empty, repeated, negative, beyond any vocabulary or
    without its parent, and for more than MAX_NODES nodes.
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
        if max(path) >= MAX_RANKS:
            raise ExplorerError(
                f"The tree asks for rank {max(path)!s:.40} but no vocabulary has so many tokens: "
                "use small ranks, 0 for a head's first prediction."
            )
        if len(path) > 1 and path[:-1] not in known:
            raise ExplorerError(
                f"The tree lists {_shown(path)} but not its parent {_shown(path[:-1])}: add it."
            )
    return tuple(listed)


def parse_paths(text: str) -> tuple[RankPath, ...]:
    """The rank paths of a fixed tree as a person writes it.

    `root`, `chain:K`, `cartesian:S1,S2,…`, a published tree's name, or JSON rank paths. Raises
    ExplorerError for what is none of them, or no tree.
    """
    kind, _, argument = (text := text.strip()).partition(":")
    try:
        if text == "root":
            return ()
        if kind == "chain":
            return _chain(int(argument))
        if kind == "cartesian":
            return cartesian_paths([int(width) for width in argument.split(",")])
        if text.startswith(("[", "(")):
            return checked_paths(_listed(json.loads(_as_json(text))))
    except (ValueError, RecursionError) as error:
        raise ExplorerError(f"Cannot read the tree '{text[:60]}': {HOW_TO_WRITE}.") from error
    if text in published_trees():
        return published_trees()[text]
    raise ExplorerError(f"There is no tree '{text[:60]}': {HOW_TO_WRITE}.")


def _as_json(text: str) -> str:
    """Python's tuples, as in medusa_choices.py, as JSON lists: [(0,), (0, 1)]."""
    return re.sub(r",\s*(?=[])])", "", text).replace("(", "[").replace(")", "]")


def _chain(length: int) -> tuple[RankPath, ...]:
    if not 1 <= length <= MAX_NODES:
        raise ExplorerError(f"A chain has 1 to {MAX_NODES} nodes, not {length}: change its length.")
    return tuple((0,) * depth for depth in range(1, length + 1))


def _listed(value: object) -> list[list[int]]:
    if not isinstance(value, list) or not all(
        isinstance(path, list) and all(type(rank) is int for rank in path) for path in value
    ):
        raise ValueError("not a list of lists of whole numbers")
    return value


def _shown(path: RankPath) -> str:
    return f"{list(path[:12])!s:.120}{' …' if len(path) > 12 else ''}"
