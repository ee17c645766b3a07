"""Chapter 8: a tree grows node by node, and a machine says where to stop."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np

from explorer.analysis.cost_curve import mean_cost
from explorer.analysis.cost_file import CostFile, shipped_costs
from explorer.analysis.formulas import path_probability, tree_speedup
from explorer.analysis.joint_counts import JointCounts, count_paths, replayed_tokens_per_step
from explorer.analysis.rank_table import RankTable, load_rank_table
from explorer.analysis.tree_search import ScoredPath, greedy_order
from explorer.learn.chapter import Chapter, See
from explorer.learn.recorded_runs import recorded_run
from explorer.records.paths import ASSETS

HEADS = ASSETS / "heads" / "default"
NODES = 64
OFFERED = 3  # paths that the question offers
EXAMPLE = 8  # nodes of the tree whose predictions the text compares
CLOSE = 0.02  # sizes whose estimates differ by less are as good as each other


def numbers() -> dict[str, object]:
    """The best sizes of the recorded machines, and what 64 nodes would bring."""
    found = machines()
    last = totals()[-1]
    return {
        "machines": found,
        "smallest": min(found, key=lambda one: one["best"]),
        "largest": max(found[:-1], key=lambda one: one["best"]),
        "free": found[-1],
        "nodes": NODES,
        "tau": 1 + last,
        "positions": joint_counts().positions,
        "close": _close(found[0]),
        "example": {"nodes": EXAMPLE, **predicted(EXAMPLE)},
    }


def predicted(size: int) -> dict[str, float]:
    """Tokens per step of the best tree of that many nodes: by the product of the heads'
    accuracies, by joint counts, and replayed step after step on the same texts."""
    paths, accuracy = [one.path for one in nodes()[:size]], joint_counts().accuracy
    return {
        "product": 1 + sum(path_probability(path, accuracy) for path in paths),
        "counted": joint_counts().tokens_per_step(paths),
        "replayed": replayed_tokens_per_step(held_out(), paths),
    }


def _close(machine: dict[str, Any]) -> dict[str, Any]:
    """The largest tree whose estimated speedup is within CLOSE of a machine's best."""
    speedup = machine["speedup"]
    size = max(n for n in range(1, NODES + 1) if speedup[n] >= (1 - CLOSE) * machine["most"])
    return {"machine": machine, "size": size, "speedup": speedup[size]}


def data() -> dict[str, Any]:
    """The nodes in their order, E[L] after each, and the speedup on each machine."""
    order = nodes()
    accuracy = joint_counts().accuracy
    product = itertools.accumulate(path_probability(one.path, accuracy) for one in order)
    return {
        "paths": [one.path for one in order],
        "success": [one.success for one in order],
        "expected": totals(),
        "product": list(product),
        "machines": machines(),
        "question": _question(),
    }


@cache
def _table() -> RankTable:
    table = load_rank_table(HEADS)
    if table is None:
        raise LookupError(f"no rank table in {HEADS}")
    return table


@cache
def held_out() -> list[np.ndarray]:
    """The rank rows of the texts that were held out of the shipped heads' training."""
    return [text.rows for text in _table().ranked()]


@cache
def joint_counts() -> JointCounts:
    """How often each rank path of the shipped heads was right, on text held out of training."""
    return count_paths(held_out(), _table().width)


@cache
def nodes() -> list[ScoredPath]:
    """The nodes of the best tree, the most valuable first."""
    return greedy_order(joint_counts().success, NODES, max_depth=4, max_width=16)


def totals() -> list[float]:
    """E[L] of the best tree of 1, 2, … nodes."""
    return list(itertools.accumulate(one.success for one in nodes()))


@cache
def machines() -> list[dict[str, Any]]:
    """Cost curve, speedups and best size on each recorded machine, and where rows are free."""
    measured = [_machine(name, costs) for name, costs in shipped_costs().items()]
    free = {"name": "rows for free", "source": "a formula, no machine: C(n) = 1", "overhead": 0.0}
    return [*measured, _with_speedups(free, [1.0] * (NODES + 1))]


def this_machine(costs: CostFile) -> dict[str, Any]:
    """The same on the machine of a running app, by the costs that it measured."""
    return _machine("here", costs) | {"name": "this machine"}


def _machine(name: str, costs: CostFile) -> dict[str, Any]:
    cost = mean_cost(costs.curves_at(1))
    about = {
        "name": costs.backend,
        "source": f"{costs.device}, {costs.backend}, {costs.model}, measured {costs.measured[:10]}",
        "overhead": costs.overhead(),
        "key": name,
    }
    return _with_speedups(about, [cost(n) for n in range(1, NODES + 2)])


def _with_speedups(about: dict[str, Any], cost: list[float]) -> dict[str, Any]:
    """`cost[n - 1]` is C(n); `speedup[k]` that of the tree of k nodes, k + 1 rows."""
    taus = [1.0, *(1 + total for total in totals())]
    overheads = [0.0, *itertools.repeat(about["overhead"], NODES)]
    speedup = [
        tree_speedup(tau, c, rest) for tau, c, rest in zip(taus, cost, overheads, strict=True)
    ]
    best = max(range(1, NODES + 1), key=speedup.__getitem__)
    return about | {"cost": cost, "speedup": speedup, "best": best, "most": speedup[best]}


def _question() -> dict[str, object]:
    """Which node comes after the first three? The right one, and the two that come after it."""
    following = nodes()[3 : 3 + OFFERED]
    offered = sorted(following, key=lambda one: one.path)
    said = "; ".join(f"{written(one.path)} was right at {one.success:.1%}" for one in following)
    begun = ", ".join(written(one.path) for one in nodes()[:3])
    return {
        "ask": f"The tree has the nodes {begun}. Which comes next? "
        "(The numbers are ranks: 2·1 is head 1's second guess, then head 2's first.)",
        "options": [written(one.path) for one in offered],
        "right": offered.index(following[0]),
        "why": f"Of all positions, {said}.",
    }


def written(path: tuple[int, ...]) -> str:
    """A rank path as a reader counts: (0, 1) is 1·2."""
    return "·".join(str(rank + 1) for rank in path)


def see() -> See:
    """The step of the recorded run with `auto` trees that verified most nodes."""
    steps = recorded_run("code").steps
    widest = max(steps, key=lambda step: len(step.token_ids))
    return See("code", widest.index + 1, "Its tree was chosen for the machine that recorded it.")


CHAPTER = Chapter("best_tree", "The best tree", numbers, data, see)
