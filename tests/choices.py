"""Calibrations from made-up cost curves."""

from explorer.analysis.calibration import Key
from explorer.analysis.cost_curve import CostCurve
from explorer.analysis.tree_choice import Costs, choose, with_context_trees
from explorer.analysis.tree_search import greedy_order, product_success

KEY = Key(model="m", heads="h", backend="int4", device="cpu, 2 threads")
ACCURACY = [[0.5, 0.2], [0.4, 0.1]]
ORDER = greedy_order(product_success(ACCURACY), 50, 2, 2)


def curve(slope, context=128, one_row_ms=20.0):
    rows = [1, 2, 4, 8, 16]
    ratios = [1 + slope * (n - 1) for n in rows]
    return CostCurve(
        context_length=context,
        rounds=3,
        one_row_ms=one_row_ms,
        rows=rows,
        milliseconds=[one_row_ms * r for r in ratios],
        ratios=ratios,
    )


def make(slope=0.05, **more):
    return choose(KEY, ORDER, Costs([curve(slope)], 1.0, 1.0), ACCURACY, basis="guess", **more)


def at_each_context(*curves):
    return with_context_trees(
        Costs(curves, 1, 1),
        lambda costs, context: choose(KEY, ORDER, costs, ACCURACY, basis="guess"),
    )
