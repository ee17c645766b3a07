"""The calibration of a machine and heads: cost curve, accuracies, and the best tree.

A calibration belongs to one model, one set of heads, one backend and one machine, and is used by
`auto` trees. measuring/calibration.py measures one, analysis/tree_choice.py chooses its tree, and
measuring/calibration_file.py keeps it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel as Schema
from pydantic import ConfigDict, Field

from explorer.analysis.cost_curve import CostCurve, mean_cost
from explorer.analysis.cost_file import BatchCurve, CostFile
from explorer.analysis.prices import node_prices
from explorer.analysis.tree_names import make_tree
from explorer.decoding.dynamic import TRUST, DynamicTree
from explorer.decoding.tree import Tree
from explorer.records.rank_paths import MAX_NODES

# The source of the accuracies: texts decoded for it, a table that ships with the heads, or, for
# heads without measurements, a guess.
Basis = Literal["prompts", "rank table", "guess"]


class Key(Schema):
    """The model, heads, backend and machine of a calibration."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    heads: str  # hash
    backend: str
    device: str

    @property
    def file_name(self) -> str:
        """A file name that is different for every key."""
        digest = hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:12]
        slug = re.sub(r"[^A-Za-z0-9.]+", "-", f"{self.backend}-{self.device}")[:80].strip("-")
        return f"{slug}-{digest}.json"


class ContextTree(Schema):
    """The best tree at one context length; without nodes if no tree pays there."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    context_length: int = Field(ge=0)
    tree: list[Annotated[list[int], Field(min_length=1)]] = Field(max_length=MAX_NODES)
    expected_tokens_per_step: float
    expected_speedup: float


class Calibration(Schema):
    """Costs, accuracies and the best tree. Every time is in milliseconds.

    `head_accuracy[k][r]`: how often rank r of head k+1 is right. `cost_curve`: C(n) at each
    context length. `tree`: rank paths of the best tree. `expected_tokens_per_step` replays the
    texts with that tree; `joint_tokens_per_step` is 1 + Σ joint path counts and
    `product_tokens_per_step` the paper's product of accuracies, for comparison. `auto_…`: the
    expectation for `auto`, if texts were decoded for it (analysis/auto_replay.py).
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    format_version: Literal[3] = 3
    created: str
    key: Key
    basis: Basis
    positions: int = Field(ge=0, description="text positions behind the accuracies")
    cost_curve: list[CostCurve] = Field(min_length=1)
    heads_ms: float = Field(ge=0, description="one forward pass of all heads")
    by_depth: bool = Field(
        default=False, description="heads draft one after the other, as deep as needed"
    )
    rest_ms: float = Field(ge=0, description="draft, accept and commit of a step")
    head_accuracy: list[list[float]]
    tree: list[Annotated[list[int], Field(min_length=1)]] = Field(max_length=MAX_NODES)
    expected_tokens_per_step: float
    joint_tokens_per_step: float
    product_tokens_per_step: float
    expected_speedup: float
    by_context: list[ContextTree] = Field(default_factory=list)
    auto_tokens_per_step: float | None = None
    auto_nodes: float | None = None
    auto_promised: float | None = None
    auto_speedup: float | None = None
    trust: float = Field(
        default=TRUST, gt=0, le=1, description="measured / predicted acceptance of the nodes"
    )

    @property
    def candidate_tree(self) -> Tree:
        """The tree that is best on the average of the measured context lengths."""
        return make_tree(self.tree, "fixed")

    @property
    def fixed_trees(self) -> dict[int, Tree]:
        """The best fixed tree at each context length that was measured."""
        return {c.context_length: make_tree(c.tree, "fixed") for c in self.by_context}

    @property
    def auto_trees(self) -> dict[int, DynamicTree]:
        """The `auto` tree at each measured context length."""
        curves = {curve.context_length: curve for curve in self.cost_curve}
        head_ms = self.heads_ms / len(self.head_accuracy) if self.by_depth else 0.0
        trees = {}
        for best in self.by_context:
            curve = curves[best.context_length]
            prices = node_prices(curve, best.expected_speedup, head_ms)
            trees[best.context_length] = DynamicTree(len(prices.rows) - 1, prices, self.trust)
        return trees

    @property
    def pays(self) -> bool:
        """Whether the best tree is expected to beat plain decoding."""
        return self.expected_speedup > 1

    @property
    def sentence(self) -> str:
        """The result in words, with its numbers; all of them are expectations."""
        nodes = len(self.tree)
        facts = (
            f"{nodes} guess{'es' if nodes > 1 else ''}: {self.expected_tokens_per_step:.2f} tokens "
            f"per step, each pass {mean_cost(self.cost_curve)(nodes + 1):.2f} times as long"
        )
        basis = ", from guessed accuracies" if self.basis == "guess" else ""
        speed = f"to run {self.expected_speedup:.2f}× as fast as plain decoding ({facts}{basis})"
        if self.pays:
            return (
                f"Speculation should pay here: the best fixed tree is expected {speed}{self._auto}."
            )
        return (
            "Speculation with a fixed tree does not pay here: even the best is expected "
            f"{speed}{self._auto}. Auto drafts only where the heads are sure enough."
        )

    @property
    def _auto(self) -> str:
        if self.auto_speedup is None:
            return ""
        return (
            f"; auto {self.auto_speedup:.2f}× ({self.auto_nodes:.1f} guesses on average, "
            f"{self.auto_tokens_per_step:.2f} tokens per step)"
        )


def shared_costs(
    calibration: Calibration, batches: Mapping[int, CostCurve], measured_by: str = ""
) -> CostFile:
    """The costs of a calibration as a file to share, with larger `batches` by their size."""
    curves = [BatchCurve(batch=1, curve=curve) for curve in calibration.cost_curve]
    curves += [BatchCurve(batch=b, curve=curve) for b, curve in batches.items() if b > 1]
    return CostFile(
        model=calibration.key.model,
        backend=calibration.key.backend,
        device=calibration.key.device,
        measured_by=measured_by,
        measured=calibration.created,
        heads_ms=calibration.heads_ms,
        rest_ms=calibration.rest_ms,
        curves=curves,
    )
