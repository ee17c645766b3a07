"""What a tree would do on recorded text, on a machine whose costs are known; without a tensor.

Which guesses are right belongs to the heads and the text, what rows cost to the machine. `TreeLab`
holds both apart, so either can be exchanged: another machine's cost curve, another run.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from pydantic import BaseModel as Schema
from pydantic import ConfigDict, Field

from explorer.analysis.cost_curve import CostCurve
from explorer.analysis.formulas import tree_speedup, tree_tokens_per_step
from explorer.analysis.joint_counts import (
    GrowingReplay,
    JointCounts,
    RankedText,
    counts_at,
    searches,
    visited,
)
from explorer.analysis.path_index import PathIndex
from explorer.analysis.tree_search import greedy_order
from explorer.records.errors import ExplorerError
from explorer.records.rank_paths import RankPath
from explorer.records.step import TOP_HEADS

LARGEST = 64  # nodes of a tree that is looked for
REPEATS = 2  # searches on the positions that the last tree found would start from


class NodeValue(Schema):
    """One node: how often its whole path is right where steps start, and whether that pays.

    A node pays if it is right more often than its row costs in tokens: S·(C(n) − C(n − 1)).
    """

    model_config = ConfigDict(frozen=True)

    path: list[int]
    right: float
    pays: bool


class ShapeReport(Schema):
    """One tree on the texts. All but `rows` and `cost` are estimates from recorded runs.

    The three estimates of τ take the independence of heads apart: `product` of accuracies at all
    positions (the paper's), `joint` counts at all positions, and `replayed`, which is joint counts
    at the positions that steps start from. joint − product is what heads being right together
    adds, replayed − joint what it changes that steps start where the last draft ended.
    """

    model_config = ConfigDict(frozen=True)

    paths: list[list[int]]
    rows: int = Field(description="of the verify pass: the nodes and the root")
    depth: int
    product: float
    joint: float
    replayed: float
    cost: float
    overhead: float
    speedup: float
    break_even: float = Field(description="tokens per step from which this tree pays")
    nodes: list[NodeValue]
    next_node: list[int] | None
    next_speedup: float | None


class BudgetCurve(Schema):
    """The greedy trees of 1, 2, … nodes in the order in which nodes are added."""

    model_config = ConfigDict(frozen=True)

    order: list[list[int]]
    tokens_per_step: list[float]
    speedups: list[float]

    @property
    def best(self) -> int:
        """Number of nodes with the highest speedup; 0 where no tree beats plain decoding."""
        top = int(np.argmax(self.speedups)) + 1 if self.speedups else 0
        return top if top and self.speedups[top - 1] > 1 else 0


class TreeLab:
    """Recorded texts of one set of heads, and the costs of one machine.

    `overhead` is (T_heads + T_rest)/T₁. Raises ExplorerError where no guess is on record.
    """

    def __init__(self, texts: Sequence[RankedText], curve: CostCurve, overhead: float) -> None:
        self.rows = [text.rows for text in texts if len(text.rows)]
        self.curve, self.overhead = curve, overhead
        if not self.rows:
            raise ExplorerError("These runs hold no guesses of heads: record some with heads.")
        self.heads = self.rows[0].shape[1]

    @cached_property
    def index(self) -> PathIndex:
        """Of the texts, for any number of trees."""
        return PathIndex(self.rows)

    @cached_property
    def counts(self) -> JointCounts:
        """Joint counts at all positions."""
        return counts_at(self.index, TOP_HEADS)

    def tokens_per_step(self, paths: Sequence[RankPath]) -> float:
        """τ of a replay."""
        steps = [step for text in self.index.steps(paths) for step in text]
        return sum(steps) / len(steps)

    def speedup(self, paths: Sequence[RankPath]) -> float:
        """Expected speedup over plain decoding; 1 for the bare root."""
        if not paths:
            return 1.0
        return self._worth(self.tokens_per_step(paths), len(paths))

    def _worth(self, tokens: float, nodes: int) -> float:
        return tree_speedup(tokens, self.curve.at(nodes + 1), self.overhead)

    def report(self, paths: Sequence[RankPath]) -> ShapeReport:
        """All about one tree. Raises ExplorerError if it is deeper than there are heads."""
        depth = max(map(len, paths), default=0)
        if depth > self.heads:
            raise ExplorerError(
                f"This tree is {depth} deep, and the runs were recorded with {self.heads} heads: "
                f"use a tree of depth {self.heads} or less."
            )
        starts = counts_at(self.index, TOP_HEADS, visited(self.index, paths))
        replayed, n = self.tokens_per_step(paths), len(paths) + 1
        best = self._next(set(paths), starts)
        return ShapeReport(
            paths=[list(path) for path in paths],
            rows=n,
            depth=depth,
            product=tree_tokens_per_step(paths, self.counts.accuracy),
            joint=self.counts.tokens_per_step(paths),
            replayed=replayed,
            cost=self.curve.at(n),
            overhead=self.overhead,
            speedup=self.speedup(paths),
            break_even=self.curve.at(n) + self.overhead,
            nodes=self._values(paths, starts),
            next_node=list(best) if best else None,
            next_speedup=self.speedup([*paths, best]) if best else None,
        )

    def _values(self, paths: Sequence[RankPath], starts: JointCounts) -> list[NodeValue]:
        n = len(paths) + 1
        price = max(1.0, self.speedup(paths)) * (self.curve.at(n) - self.curve.at(n - 1))
        shares = [(path, starts.success(path)) for path in paths]
        return [NodeValue(path=list(p), right=share, pays=share > price) for p, share in shares]

    def _next(self, tree: set[RankPath], starts: JointCounts) -> RankPath | None:
        """The node outside the tree, with its parent in it, that is right most often."""
        held = tree | {()}
        offered = [path for path in starts.counts if path not in held and path[:-1] in held]
        return max(offered, key=lambda path: starts.counts[path], default=None)

    def budget(self, largest: int = LARGEST) -> BudgetCurve:
        """The best trees of every size up to `largest`, and the speedup of each."""
        found = searches(
            self.index, TOP_HEADS, lambda counts: self._grown(counts, largest), self._best, REPEATS
        )
        return max(found, key=lambda curve: max(curve.speedups, default=0.0))

    def _grown(self, counts: JointCounts, largest: int) -> BudgetCurve:
        order = [s.path for s in greedy_order(counts.success, largest, self.heads, TOP_HEADS)]
        replay = GrowingReplay(self.index, order)
        tokens = [replay.tokens_per_step(nodes) for nodes in range(1, len(order) + 1)]
        return BudgetCurve(
            order=[list(path) for path in order],
            tokens_per_step=tokens,
            speedups=[self._worth(tau, nodes) for nodes, tau in enumerate(tokens, start=1)],
        )

    @staticmethod
    def _best(curve: BudgetCurve) -> list[RankPath]:
        return [tuple(path) for path in curve.order[: curve.best or 1]]

    def best_shape(self) -> tuple[list[RankPath], float] | None:
        """The fixed tree with the highest speedup, and that speedup; None where none is right."""
        curve = self.budget()
        if not curve.order:
            return None
        nodes = 1 + int(np.argmax(curve.speedups))
        return [tuple(path) for path in curve.order[:nodes]], curve.speedups[nodes - 1]
