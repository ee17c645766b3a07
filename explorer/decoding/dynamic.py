"""Dynamic trees: each step keeps the nodes that the heads find likeliest just then.

A fixed tree spends its nodes where the heads are right on average. EAGLE-2 (Li et al. 2024, arXiv
2406.16858) lets the drafter's own probabilities decide instead: a node's joint probability is the
product of the probabilities along its path, and the N nodes with the highest are verified. They
always form a tree, since no node is likelier than its parent.

How many are worth verifying differs from step to step, too. Where the machine's cost curve is
known, a node has a price: the tokens that would be written in the time that its row takes. Then a
step keeps as many nodes as make the sum of their chances exceed their price by most, which may be
none.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, islice, takewhile
from typing import TypeVar

import torch

from explorer.decoding.filling import TOP, filled
from explorer.decoding.loop import Context, Draft, Stopwatch
from explorer.decoding.tree import RankPath, Tree
from explorer.heads.heads import MedusaHeads
from explorer.heads.hydra import HydraHeads

BEAM = 8  # nodes of a depth that Hydra heads go on from
TRUST = 0.85  # of what heads promise comes true, until `calibrate` measures it for a set of heads
CHILD = 0.5  # of its parent's chance is what a node's likeliest child has, about
Node = TypeVar("Node")


@dataclass(frozen=True)
class Prices:
    """What nodes cost, in tokens that would be written in the same time.

    rows[k]  verifying k nodes beside the root instead of the root alone; rows[0] is 0
    depth    asking one head more, where heads draft one after the other
    """

    rows: tuple[float, ...]
    depth: float = 0.0

    @cached_property
    def least(self) -> tuple[float, ...]:
        """least[k]: behind k nodes, the least that further ones cost each, however many."""
        count = len(self.rows)
        return tuple(
            min((self.rows[b] - self.rows[k]) / (b - k) for b in range(k + 1, count))
            for k in range(count - 1)
        )


@dataclass(frozen=True)
class DynamicTree:
    """No fixed shape: every step takes nodes by what the heads say there (decoding/dynamic.py).

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

    def price(self, nodes: int) -> float | None:
        """What so many nodes cost together, in tokens; None where they have no price."""
        return self.prices.rows[nodes] if self.prices else None


def nearest_length(lengths: Iterable[int], context_length: int) -> int:
    """Of context lengths that trees were made for, the nearest, in proportion."""
    return min(lengths, key=lambda length: abs(math.log((length + 1) / (context_length + 1))))


class DynamicMedusaDrafter:
    """The likeliest rank paths of Medusa heads, whose guesses do not depend on the path."""

    def __init__(self, heads: MedusaHeads, tree: DynamicTree) -> None:
        self.heads = heads
        self.tree = tree

    def draft(self, context: Context, clock: Stopwatch) -> Draft:
        """This step's tree, no deeper than the text may grow."""
        ids, probs = (t[0].cpu() for t in self.heads.propose(context.hidden, TOP))  # [K, top]
        clock.lap("heads")
        paths = kept(by_likelihood(probs[: context.max_depth].tolist()), self.tree)
        tree = tree_of(tuple(paths), self.tree.name)
        return filled(tree, context.root, ids, probs, self.tree.price(len(paths)))


@lru_cache(maxsize=4096)
def tree_of(paths: tuple[RankPath, ...], name: str) -> Tree:
    """The tree of these paths, which the steps of a run share where their shapes agree."""
    return Tree(paths, name)


def kept(guesses: Iterable[tuple[float, Node]], tree: DynamicTree) -> list[Node]:
    """The nodes of a step, from guesses with their joint probabilities, likeliest first."""
    guesses = islice(guesses, tree.nodes)
    if tree.prices is None:
        return [node for _, node in guesses]
    # Where the next one is not worth the least price, those behind it are not, either.
    pairs = zip(guesses, tree.prices.least, strict=False)
    pays = takewhile(lambda pair: tree.trust * pair[0][0] > pair[1], pairs)
    offered = [guess for guess, _ in pays]
    chances = [tree.trust * joint for joint, _ in offered]
    return [node for _, node in offered[: worthwhile(chances, tree.prices)]]


def worthwhile(chances: Sequence[float], prices: Prices) -> int:
    """How many nodes to verify, likeliest first: where their chances exceed their price by most."""
    together = accumulate(chances, initial=0.0)
    gains = [chance - price for chance, price in zip(together, prices.rows, strict=False)]
    return gains.index(max(gains))


def likeliest_paths(probs: Sequence[Sequence[float]], nodes: int) -> list[RankPath]:
    """The `nodes` rank paths of highest joint probability, likeliest first."""
    return [path for _, path in islice(by_likelihood(probs), nodes)]


def by_likelihood(probs: Sequence[Sequence[float]]) -> Iterator[tuple[float, RankPath]]:
    """All rank paths with their joint probabilities, likeliest first.

    probs[d][r]: probability of rank r at depth d + 1, falling with r.
    """
    heap = [(-probs[0][0], (0,))] if probs else []
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


@dataclass(frozen=True)
class _Guess:
    """A node that was guessed: its rank path, tokens from the root to it, and probabilities."""

    path: RankPath
    tokens: tuple[int, ...]
    prob: float
    joint: float


class DynamicHydraDrafter:
    """The likeliest nodes among those that Hydra heads reach from the best of every depth.

    With prices, the next head is asked only behind nodes whose children can be worth it.
    """

    def __init__(self, heads: HydraHeads, tree: DynamicTree) -> None:
        self.heads = heads
        self.tree = tree
        prices = tree.prices
        self.hopeless = (prices.least[0] + prices.depth) / (tree.trust * CHILD) if prices else 0.0

    def draft(self, context: Context, clock: Stopwatch) -> Draft:
        """This step's tree, no deeper than the text may grow."""
        frontier = [_Guess((), (context.root,), 1.0, 1.0)]
        guesses, offered = [], {}
        for _ in range(min(self.heads.config.num_heads, context.max_depth)):
            paths = torch.tensor([guess.tokens for guess in frontier])
            ids, probs = (t.cpu() for t in self.heads.propose_next(context.hidden, paths, TOP))
            offered |= {guess.path: (ids[i], probs[i]) for i, guess in enumerate(frontier)}
            level = _continued(frontier, ids.tolist(), probs.tolist())
            guesses += level
            best = heapq.nlargest(BEAM, level, key=lambda guess: guess.joint)
            frontier = [guess for guess in best if guess.joint > self.hopeless]
            if not frontier:
                break
        clock.lap("heads")
        # Parents come before their children, so of equal joints the parent is kept.
        guesses.sort(key=lambda guess: -guess.joint)
        chosen = kept(((guess.joint, guess) for guess in guesses), self.tree)
        tree = tree_of(tuple(guess.path for guess in chosen), self.tree.name)
        by_path = {guess.path: guess for guess in chosen}
        nodes = [by_path[path] for path in tree.paths]
        tokens = torch.tensor([context.root, *(guess.tokens[-1] for guess in nodes)])
        rows = {(): 0} | {path: row for row, path in enumerate(tree.paths, start=1)}
        below = {rows[path]: tops for path, tops in offered.items() if path in rows}
        probs = torch.tensor([1.0, *(guess.prob for guess in nodes)])
        return Draft(tree, tokens, probs, below=below, price=self.tree.price(len(nodes)))


def _continued(
    frontier: list[_Guess], ids: list[list[int]], probs: list[list[float]]
) -> list[_Guess]:
    """Every guess of the frontier with every prediction behind it: ids, probs [m][top]."""
    return [
        _Guess((*guess.path, rank), (*guess.tokens, token), prob, guess.joint * prob)
        for guess, tokens, chances in zip(frontier, ids, probs, strict=True)
        for rank, (token, prob) in enumerate(zip(tokens, chances, strict=True))
    ]
