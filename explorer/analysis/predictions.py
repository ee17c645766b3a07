"""The published formulas with a run's own measured inputs, and the run's measured speedup.

The inputs are measured: acceptance by depth, the rows of each pass, the time of drafting, plain
decoding's time per token, and the cost curve C(n). The formulas are those of analysis/formulas.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import BaseModel as Schema
from pydantic import ConfigDict, computed_field

from explorer.analysis.cost_curve import CostCurve
from explorer.analysis.formulas import (
    acceptance_rate,
    expected_accepted,
    expected_tokens,
    pays,
    tree_speedup,
    tree_tokens_per_step,
)
from explorer.analysis.joint_counts import count_paths
from explorer.analysis.speedup import DepthAcceptance
from explorer.records.rank_paths import RankPath
from explorer.records.schema import TreeShape
from explorer.records.step import TOP_HEADS, Step

Shape = tuple[RankPath, ...]


@dataclass(frozen=True)
class StepFacts:
    """The inputs of the formulas from one step with a verify pass; times in milliseconds.

    `depth` of its tree is K if that is a chain; `rows` counts all rows of the pass, including
    those of a lookahead branch.
    """

    depth: int
    chain: bool
    rows: int
    emitted: int
    draft_ms: float
    verify_ms: float
    rest_ms: float


def step_facts(step: Step, trees: Sequence[TreeShape]) -> StepFacts:
    """The facts of a recorded step. `draft_ms` covers heads, draft model and choosing."""
    depths, timings = trees[step.tree].depths, step.timings
    window = step.lookahead.window if step.lookahead else []
    extra = max(0, sum(map(len, window)) - 1)  # the window's corner is the tree's root
    return StepFacts(
        depth=max(depths),
        chain=len(depths) == max(depths) + 1,
        rows=len(depths) + extra,
        emitted=len(step.emitted),
        draft_ms=timings.heads + timings.draft,
        verify_ms=timings.verify,
        rest_ms=timings.accept + timings.commit,
    )


class Prediction(Schema):
    """Formulas and the measured speedup; errors are predicted / measured − 1.

    alpha              accepted / (accepted + first rejections), all depths together
    tokens_per_step    E(α, K) if the drafts are chains, else τ = 1 + Σ P(L ≥ m) from the
                       acceptance of each depth
    draft, rest        T_draft/T₁ and T_rest/T₁: time of a step's drafting, and of accepting and
                       committing, over plain decoding's time per token
    product            the paper's τ of the trees: products of each head's own accuracy, as if the
                       heads were independent; None without heads
    speedup_idealised  S, which takes a pass of any width for one of a single row
    speedup_at_cost    S′ with C(n) for chains; τ / (C(n) + (T_draft + T_rest)/T₁) for trees
    pays_as_published  m·T₁ > T_draft + T_verify with m accepted drafts, and `pays_corrected` with
                       m + 1, because a step also emits the base model's own token
    """

    model_config = ConfigDict(frozen=True)

    chain: bool
    alpha: float | None
    drafted: float
    rows: float
    cost: float
    draft: float
    rest: float
    tokens_per_step: float
    product: float | None
    speedup_idealised: float
    speedup_at_cost: float
    pays_as_published: bool
    pays_corrected: bool
    measured_tokens_per_step: float
    measured_speedup: float
    error_idealised: float
    error_at_cost: float

    @computed_field
    @property
    def published_is_wrong(self) -> bool:
        """Whether the published rule contradicts the measured speedup."""
        return self.pays_as_published != (self.measured_speedup > 1)

    @computed_field
    @property
    def corrected_is_wrong(self) -> bool:
        """Whether the corrected rule contradicts the measured speedup."""
        return self.pays_corrected != (self.measured_speedup > 1)


def predict(
    steps: Sequence[StepFacts],
    acceptance: Sequence[DepthAcceptance],
    plain_ms: float,
    curve: CostCurve,
    product: float | None = None,
) -> Prediction | None:
    """The formulas on the pooled steps of a method; None if nothing was measured.

    plain_ms: plain decoding's time per token in the same races; `product`: see
    `product_tokens_per_step`.
    """
    if not steps or plain_ms <= 0:
        return None
    alpha = _alpha(acceptance)
    draft = float(np.mean([step.draft_ms for step in steps])) / plain_ms
    rest = float(np.mean([step.rest_ms for step in steps])) / plain_ms
    verify = float(np.mean([step.verify_ms for step in steps])) / plain_ms
    cost = float(np.mean([curve.at(step.rows) for step in steps]))
    chain = all(step.chain for step in steps)
    tokens = (
        float(np.mean([expected_tokens(alpha or 0.0, step.depth) for step in steps]))
        if chain
        else 1.0 + expected_accepted(reached(acceptance, len(steps)))
    )
    per_step = float(np.mean([step.emitted for step in steps]))
    measured = per_step / (draft + verify + rest)
    idealised = tree_speedup(tokens, 1.0, draft)
    at_cost = tree_speedup(tokens, cost, draft if chain else draft + rest)
    return Prediction(
        chain=chain,
        alpha=alpha,
        drafted=float(np.mean([step.depth for step in steps])),
        rows=float(np.mean([step.rows for step in steps])),
        cost=cost,
        draft=draft,
        rest=rest,
        tokens_per_step=tokens,
        product=product,
        speedup_idealised=idealised,
        speedup_at_cost=at_cost,
        pays_as_published=pays(per_step - 1, 1.0, draft, verify),
        pays_corrected=pays(per_step, 1.0, draft, verify),
        measured_tokens_per_step=per_step,
        measured_speedup=measured,
        error_idealised=idealised / measured - 1,
        error_at_cost=at_cost / measured - 1,
    )


def product_tokens_per_step(
    ranks: Sequence[np.ndarray], shapes: Mapping[Shape, int]
) -> float | None:
    """τ of the trees by the product of the heads' accuracies: the paper's estimate.

    The accuracies are those of the run itself, at every recorded position: `ranks` as from
    joint_counts.rank_rows, [positions, heads] a text. `shapes` says how often each tree was used.
    None if no head's guesses were recorded.
    """
    counted = count_paths([rows for rows in ranks if rows.shape[1]], TOP_HEADS)
    steps = sum(shapes.values())
    if not counted.positions or not steps:
        return None
    each = (
        times * tree_tokens_per_step(paths, counted.accuracy) for paths, times in shapes.items()
    )
    return sum(each) / steps


def pooled(runs: Sequence[Sequence[DepthAcceptance]]) -> list[DepthAcceptance]:
    """Acceptance by depth of several runs together."""
    totals: dict[int, tuple[int, int]] = {}
    for depth in (depth for run in runs for depth in run):
        accepted, rejected = totals.get(depth.depth, (0, 0))
        totals[depth.depth] = (accepted + depth.accepted, rejected + depth.first_rejections)
    return [DepthAcceptance(d, a, r, acceptance_rate(a, r)) for d, (a, r) in sorted(totals.items())]


def reached(acceptance: Sequence[DepthAcceptance], steps: int) -> list[float]:
    """P(L ≥ m) for m = 1, 2, …: the share of all steps that accepted a node at depth m.

    Not the product of the acceptance rates: that would treat every step as deep as the deepest.
    """
    return [depth.accepted / steps for depth in acceptance]


def _alpha(acceptance: Sequence[DepthAcceptance]) -> float | None:
    return acceptance_rate(
        sum(depth.accepted for depth in acceptance),
        sum(depth.first_rejections for depth in acceptance),
    )
