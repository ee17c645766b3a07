"""What the doctor reports: the run, the heads, the ledger and the causes."""

from __future__ import annotations

from pydantic import BaseModel as Schema
from pydantic import ConfigDict, Field

from explorer.analysis.cost_curve import CostCurve
from explorer.analysis.diagnosis_case import Finding
from explorer.analysis.head_report import AccuracyReport
from explorer.analysis.ledger import Ledger
from explorer.records.head_facts import HeadFacts


class Checkup(Schema):
    """What was measured and found. Rates are of all races together."""

    model_config = ConfigDict(frozen=True)

    model: str
    backend: str
    device: str
    method: str
    settings: dict[str, str | float | int | bool | None]
    prompts: int
    identical: int
    trust: float | None = Field(
        default=None, description="by which `auto` multiplies what heads promise"
    )
    bit_exact: bool
    plain_tokens_per_second: float
    tokens_per_second: float
    heads: HeadFacts
    accuracy: AccuracyReport
    ledger: Ledger
    cost_curve: CostCurve
    findings: list[Finding]
