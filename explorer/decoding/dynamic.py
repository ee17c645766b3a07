"""Dynamic trees: each step keeps the nodes that the heads find likeliest just then.

A fixed tree spends its nodes where the heads are right on average. EAGLE-2 (Li et al. 2024, arXiv
2406.16858) lets the drafter's own probabilities decide instead: a node's joint probability is the
product of the probabilities along its path, and the N nodes with the highest are verified. They
always form a tree, since no node is likelier than its parent.

How many are worth verifying differs from step to step, too. Where the machine's cost curve is
known, a node has a price: the tokens that would be written in the time that its row takes. Then a
step keeps the k likeliest nodes that maximise the sum of their chances minus the price of k rows;
k may be 0.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, islice, takewhile
from typing import TypeVar

from explorer.decoding.tree import Tree
from explorer.records.prices import Prices
from explorer.records.rank_paths import RankPath

TOP = 16  # predictions a head offers
TRUST = 0.85  # measured / predicted acceptance, until `calibrate` measures it for a set of heads
Node = TypeVar("Node")


@dataclass(frozen=True)
class DynamicTree:
    """No fixed shape: every step takes the nodes that its heads find likeliest.

    The `nodes` likeliest ones; with `prices` only as many of them as are worth their price, where
    a node's chance is `trust` times the joint probability that the heads give it.
    """

    nodes: int
    prices: Prices | None = None
    trust: float = TRUST

    @property
    def name(self) -> str:
        """How it is written."""
        return "auto" if self.prices else f"dynamic:{self.nodes}"

    def choose(self, guesses: Iterable[tuple[float, Node]]) -> list[Node]:
        """The nodes of a step, from guesses with their joint probabilities, likeliest first."""
        guesses = islice(guesses, self.nodes)
        if self.prices is None:
            return [node for _, node in guesses]
        # Where the next one is not worth the lowest price, those after it are not, either.
        pairs = zip(guesses, self.prices.min_each, strict=False)
        pays = takewhile(lambda pair: self.trust * pair[0][0] > pair[1], pairs)
        offered = [guess for guess, _ in pays]
        together = accumulate((self.trust * joint for joint, _ in offered), initial=0.0)
        gains = [sum_ - price for sum_, price in zip(together, self.prices.rows, strict=False)]
        return [node for _, node in offered[: gains.index(max(gains))]]

    def tree(self, paths: Iterable[RankPath]) -> tuple[Tree, tuple[float, float] | None]:
        """The tree of chosen paths; if nodes have prices, their sum, and the trust."""
        tree = _tree(tuple(paths), self.name)
        return tree, (self.prices.rows[tree.n - 1], self.trust) if self.prices else None


@lru_cache(maxsize=4096)
def _tree(paths: tuple[RankPath, ...], name: str) -> Tree:
    """Steps of a run share a tree where their shapes agree."""
    return Tree(paths, name)


def by_likelihood(probs: Sequence[Sequence[float]]) -> Iterator[tuple[float, RankPath]]:
    """All rank paths with their joint probabilities, likeliest first.

    probs[d][r]: probability of rank r at depth d + 1, falling with r.
    """
    heap: list[tuple[float, RankPath]] = [(-probs[0][0], (0,))] if probs else []
    while heap:
        joint, path = heapq.heappop(heap)
        yield -joint, path
        depth, rank = len(path), path[-1]
        here = probs[depth - 1]
        if rank + 1 < len(here) and here[rank] > 0:
            sibling = joint / here[rank] * here[rank + 1]
            heapq.heappush(heap, (sibling, (*path[:-1], rank + 1)))
        if depth < len(probs):
            heapq.heappush(heap, (joint * probs[depth][0], (*path, 0)))
