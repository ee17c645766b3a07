"""The best candidate tree: for a node budget, and for a machine.

Medusa, section 2.3.3: the expected accepted length of a tree is the sum, over its nodes, of the
probability that the whole path to the node is right; adding the node with the largest such
probability first builds the best tree of every size. This holds for any success measure that
never grows along a path, so for the paper's product of accuracies and for measured joint counts.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from explorer.analysis.formulas import path_probability, tree_speedup
from explorer.records.rank_paths import MAX_NODES, RankPath

Success = Callable[[RankPath], float]


@dataclass(frozen=True)
class ScoredPath:
    """A node by its rank path, and the probability that the whole path is right."""

    path: RankPath
    success: float


@dataclass(frozen=True)
class TreeChoice:
    """A tree by its rank paths, its expected tokens per step and speedup on this machine.

    `expected_speedup` below 1 means that even the best tree is slower than plain decoding.
    """

    paths: tuple[RankPath, ...]
    expected_tokens_per_step: float
    expected_speedup: float


def product_success(accuracy: Sequence[Sequence[float]]) -> Success:
    """The paper's measure: Π `accuracy[d][r]` along the path, as if heads were independent."""
    return lambda path: path_probability(path, accuracy)


def greedy_order(success: Success, budget: int, max_depth: int, max_width: int) -> list[ScoredPath]:
    """The first `budget` nodes to put into a tree, best first; every prefix is a valid tree.

    The first k of them are the best tree of k nodes, for every k. `success` must not grow along a
    path (ValueError if it does). Nodes that are never right are not included, so the list may be
    shorter than the budget. Ties go to the shallower node, then to the lower ranks.
    """
    order: list[ScoredPath] = []
    heap: list[tuple[float, int, RankPath]] = []

    def offer(parent: RankPath, bound: float) -> None:
        for rank in range(max_width):
            path = (*parent, rank)
            value = success(path)
            if value > bound * (1 + 1e-9):
                raise ValueError(f"path {path} succeeds more often than its own beginning")
            if value > 0:
                heapq.heappush(heap, (-value, len(path), path))

    if max_depth > 0:
        offer((), 1.0)
    while heap and len(order) < budget:
        value, depth, path = heapq.heappop(heap)
        order.append(ScoredPath(path, -value))
        if depth < max_depth:
            offer(path, -value)
    return order


def best_tree(
    order: Sequence[ScoredPath],
    cost: Callable[[int], float],
    overhead: Callable[[int], float],
    tokens_per_step: Callable[[int], float] | None = None,
    max_nodes: int = MAX_NODES,
) -> TreeChoice | None:
    """Over all budgets, the greedy tree that maximises τ / (C(n) + (T_heads + T_rest)/T₁).

    `cost(n)` is C(n), n counting the root; `overhead(depth)` is (T_heads + T_rest)/T₁ for a tree of
    that depth, since some heads draft depth by depth. `tokens_per_step` may give a better τ
    of the first k nodes than 1 + Σ success, for instance a replay of recorded text. The tree has at
    least one node: if every tree loses, it is the one that loses least. None if `order`
    is empty. Of equal trees the smaller wins.
    """
    best: tuple[float, int, float] | None = None
    totals = itertools.accumulate(scored.success for scored in order)
    depths = itertools.accumulate((len(scored.path) for scored in order), max)
    sizes = itertools.islice(zip(totals, depths, strict=True), max_nodes)
    for nodes, (total, depth) in enumerate(sizes, start=1):
        tau = 1.0 + total
        if tokens_per_step is not None:
            tau = tokens_per_step(nodes)
        speedup = tree_speedup(tau, cost(nodes + 1), overhead(depth))
        if best is None or speedup > best[0]:
            best = (speedup, nodes, tau)
    if best is None:
        return None
    speedup, nodes, tau = best
    paths = tuple(scored.path for scored in order[:nodes])
    return TreeChoice(paths, expected_tokens_per_step=tau, expected_speedup=speedup)
