"""Replays `auto` trees on recorded text: tokens per step and speedup, without decoding.

A fixed tree needs to know which guesses were right; a tree that chooses its nodes in every step
also needs the heads' probabilities. So this takes texts decoded for this purpose, with heads whose
guesses do not depend on the path: the guesses of other heads after a wrong token are not recorded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from explorer.analysis.calibration import Calibration
from explorer.analysis.cost_curve import nearest_length
from explorer.analysis.joint_counts import RankedText, steps_through
from explorer.analysis.tree_choice import Costs
from explorer.decoding.dynamic import DynamicTree, by_likelihood
from explorer.records.rank_paths import RankPath


@dataclass(frozen=True)
class AutoReplay:
    """Means over all steps.

    `promised`: accepted drafts by the heads' own probabilities; tokens_per_step − 1 were really
    accepted. `speedup` is over plain decoding, at the measured costs.
    """

    tokens_per_step: float
    nodes: float
    promised: float
    speedup: float


def replay_auto(
    calibration: Calibration, costs: Costs, texts: Sequence[RankedText]
) -> AutoReplay | None:
    """The steps of `auto` on the texts; None if their heads' probabilities are not recorded."""
    texts = [text for text in texts if len(text.rows)]
    if not texts or any(text.probs is None for text in texts):
        return None
    trees = calibration.auto_trees
    steps = [step for text in texts for step in _steps(trees, costs, text)]
    tokens, nodes, promised, cost = np.sum(steps, axis=0)
    return AutoReplay(
        tokens_per_step=tokens / len(steps),
        nodes=nodes / len(steps),
        promised=promised / len(steps),
        speedup=tokens / cost,
    )


def _steps(
    trees: Mapping[int, DynamicTree], costs: Costs, text: RankedText
) -> list[tuple[int, int, float, float]]:
    """Tokens, nodes, promised drafts, and cost in one-row passes, of every step on a text."""
    context = nearest_length(trees, text.before + len(text.rows) // 2)
    tree = trees[context]
    curve = next(curve for curve in costs.curves if curve.context_length == context)
    rest = costs.overhead(text.rows.shape[1])
    chosen_trees: list[tuple[int, float, float]] = []
    probs = text.probs
    assert probs is not None  # replay_auto has looked

    def paths(at: int) -> set[RankPath]:
        guesses = ((joint, (joint, path)) for joint, path in by_likelihood(probs[at]))
        chosen = tree.choose(guesses)
        promised = sum(joint for joint, _ in chosen)
        chosen_trees.append((len(chosen), promised, curve.at(len(chosen) + 1) + rest))
        return {path for _, path in chosen}

    tokens = steps_through(text.rows, paths)
    return [(n, *more) for n, more in zip(tokens, chosen_trees, strict=True)]
