"""What a diagnosis looks at, and what it finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel as Schema
from pydantic import ConfigDict

from explorer.analysis.cost_curve import CostCurve
from explorer.analysis.head_report import AccuracyReport
from explorer.analysis.joint_counts import RankedText
from explorer.analysis.ledger import Ledger
from explorer.records.head_facts import HeadFacts
from explorer.records.rank_paths import RankPath


class Finding(Schema):
    """One cause: `cause` is its name in scripts, `costs` the speedup that it takes."""

    model_config = ConfigDict(frozen=True)

    cause: str
    title: str
    costs: float
    evidence: str
    remedy: str


@dataclass(frozen=True)
class Probe:
    """A short run with one setting changed, and the same prompts as they were asked for."""

    setting: str
    changed_to: str
    asked: float  # tokens per step
    changed: float

    @property
    def gain(self) -> float:
        """How many more tokens a step emits with the change, less 1."""
        return self.changed / self.asked - 1


@dataclass(frozen=True)
class Case:
    """All that a diagnosis looks at.

    `tree` is the fixed tree that every step used, or None where trees changed from step to step.
    `identical` counts the prompts whose text equals plain decoding's, of `prompts`.
    """

    heads: HeadFacts
    ledger: Ledger
    accuracy: AccuracyReport
    texts: Sequence[RankedText]
    curve: CostCurve
    overhead: float
    tree: Sequence[RankPath] | None = None
    probes: Sequence[Probe] = ()
    identical: int = 0
    prompts: int = 0
    bit_exact: bool = True
    shares: dict[str, float] = field(default_factory=dict)
