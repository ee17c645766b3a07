"""From costs and accuracies to a calibration: the best tree, on average and at each context."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from explorer.analysis.calibration import Basis, Calibration, ContextTree, Key
from explorer.analysis.cost_curve import CostCurve, mean_cost
from explorer.analysis.formulas import tree_tokens_per_step
from explorer.analysis.tree_search import ScoredPath, TreeChoice, best_tree
from explorer.records.errors import ExplorerError

TokensPerStep = Callable[[int], float]  # by the number of nodes


@dataclass(frozen=True)
class Costs:
    """The cost of a step on this machine: C(n) at several context lengths, and its other parts."""

    curves: Sequence[CostCurve]
    heads_ms: float
    rest_ms: float
    by_depth: int = 0  # how many heads take `heads_ms` one after the other; 0: all at once

    def overhead(self, depth: int) -> float:
        """(T_heads + T_rest)/T₁ for a tree of this depth."""
        one_row = sum(curve.one_row_ms for curve in self.curves) / len(self.curves)
        share = depth / self.by_depth if self.by_depth else 1.0
        return (self.heads_ms * share + self.rest_ms) / one_row

    def at(self, curve: CostCurve) -> Costs:
        """The same with only one of the curves."""
        return dataclasses.replace(self, curves=[curve])


def choose(
    key: Key,
    order: Sequence[ScoredPath],
    costs: Costs,
    accuracy: Sequence[Sequence[float]],
    basis: Basis,
    positions: int = 0,
    tokens_per_step: TokensPerStep | None = None,
) -> Calibration:
    """The calibration that follows from these measurements.

    `order` is the greedy order of nodes, `tokens_per_step` a better τ than its sum if there is
    one. Trees are as large as the cost curve was measured for. Raises ExplorerError if no head
    is ever right.
    """
    choice = _best(order, costs, tokens_per_step)
    if choice is None:
        raise ExplorerError(
            "None of the heads was right even once, so there is no tree to choose: check that "
            "the heads belong to this base model."
        )
    paths = sorted(choice.paths, key=lambda path: (len(path), path))
    success = {scored.path: scored.success for scored in order}
    return Calibration(
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        key=key,
        basis=basis,
        positions=positions,
        cost_curve=list(costs.curves),
        heads_ms=costs.heads_ms,
        rest_ms=costs.rest_ms,
        by_depth=bool(costs.by_depth),
        head_accuracy=[list(ranks) for ranks in accuracy],
        tree=[list(path) for path in paths],
        expected_tokens_per_step=choice.expected_tokens_per_step,
        joint_tokens_per_step=1 + sum(success[path] for path in paths),
        product_tokens_per_step=tree_tokens_per_step(paths, accuracy),
        expected_speedup=choice.expected_speedup,
    )


def _best(
    order: Sequence[ScoredPath], costs: Costs, tokens_per_step: TokensPerStep | None
) -> TreeChoice | None:
    """The best tree at the mean of the costs, up to the measured size."""
    widest = min(curve.rows[-1] for curve in costs.curves)
    cost = mean_cost(costs.curves)
    return best_tree(order, cost, costs.overhead, tokens_per_step, max_nodes=max(1, widest - 1))


def with_context_trees(
    costs: Costs, search: Callable[[Costs, int | None], Calibration]
) -> Calibration:
    """The best tree on the average of all curves, and that of each.

    `search(costs, context length)` finds the calibration at these costs; None: over all lengths.
    """
    curves = sorted(costs.curves, key=lambda curve: curve.context_length)
    trees = [
        _context_tree(search(costs.at(curve), curve.context_length), curve, curve is curves[0])
        for curve in curves
    ]
    return search(costs, None).model_copy(update={"by_context": trees})


def _context_tree(found: Calibration, curve: CostCurve, always: bool) -> ContextTree:
    """What was found for one curve.

    At a long context a row costs more and guesses are worse, so that no tree may be best. At the
    shortest one there is `always` a tree, so that there is something to see: the one that loses
    least.
    """
    pays = always or found.pays
    return ContextTree(
        context_length=curve.context_length,
        tree=found.tree if pays else [],
        expected_tokens_per_step=found.expected_tokens_per_step if pays else 1.0,
        expected_speedup=found.expected_speedup if pays else 1.0,
    )
