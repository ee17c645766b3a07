"""Cost curves to share: what verify passes cost on one machine, in a small JSON file.

A run recorded on one machine and the cost file of another answer what that run would do there: the
heads' part (which guesses are right) and the machine's part (what rows cost) stand apart. Such an
answer is an estimate: nothing ran there.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from pydantic import BaseModel as Schema
from pydantic import ConfigDict, Field, ValidationError, model_validator

from explorer.analysis.cost_curve import CostCurve
from explorer.records.errors import ExplorerError, first_fault
from explorer.records.files import write_text
from explorer.records.paths import ASSETS

FOLDER = ASSETS / "costs"
MAX_BYTES = 256 << 10
MAX_CURVES = 64


class BatchCurve(Schema):
    """C(n) of passes over `batch` sequences of n rows each, over such passes of one row each."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    batch: int = Field(ge=1, le=4096)
    curve: CostCurve


class CostFile(Schema):
    """What a step costs on one machine, in milliseconds.

    `heads_ms`: one draft of the heads that were measured with it; `rest_ms`: draft, accept and
    commit of a step. `measured_by` is what whoever measured it wants to be called.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    format_version: Literal[1] = 1
    model: str = Field(max_length=300)
    backend: str = Field(max_length=40)
    device: str = Field(max_length=300)
    measured_by: str = Field(default="", max_length=100)
    measured: str = Field(max_length=40, description="ISO 8601, UTC")
    heads_ms: float = Field(ge=0)
    rest_ms: float = Field(ge=0)
    curves: list[BatchCurve] = Field(min_length=1, max_length=MAX_CURVES)

    @model_validator(mode="after")
    def _each_curve_once(self) -> CostFile:
        keys = [(each.batch, each.curve.context_length) for each in self.curves]
        if len(set(keys)) < len(keys):
            raise ValueError("a batch size and context length has two curves")
        return self

    @property
    def batches(self) -> list[int]:
        """The batch sizes that were measured."""
        return sorted({each.batch for each in self.curves})

    @property
    def title(self) -> str:
        """Machine and backend in a few words."""
        return f"{self.backend} · {self.device}"

    def curves_at(self, batch: int) -> list[CostCurve]:
        """The curves of a batch size, shortest context first. Raises ExplorerError."""
        found = [each.curve for each in self.curves if each.batch == batch]
        if not found:
            raise ExplorerError(
                f"These costs were measured at batch sizes {', '.join(map(str, self.batches))}, "
                f"not at {batch}: choose one of them."
            )
        return sorted(found, key=lambda curve: curve.context_length)

    def overhead(self, batch: int = 1) -> float:
        """(T_heads + T_rest)/T₁ at a batch size: each sequence is drafted and judged alone."""
        one_row = self.curves_at(batch)[0].one_row_ms
        return batch * (self.heads_ms + self.rest_ms) / one_row


def parse_costs(text: str | bytes) -> CostFile:
    """A cost file from its JSON text. Raises ExplorerError with what is wrong."""
    if len(text) > MAX_BYTES:
        raise ExplorerError(f"This is no file of costs: it has more than {MAX_BYTES >> 10} KB.")
    try:
        read = json.loads(text)
        if not isinstance(read, dict):
            raise ValueError("no JSON object")
        return CostFile.model_validate(read)
    except ValidationError as error:
        raise ExplorerError(
            f"This is no file of costs ({first_fault(error)}): 'calibrate --out' writes one."
        ) from error
    except (ValueError, RecursionError) as error:
        raise ExplorerError(
            "This is no file of costs, as it is no JSON object: 'calibrate --out' writes one."
        ) from error


def read_costs(path: str | Path) -> CostFile:
    """The cost file at `path`. Raises ExplorerError."""
    try:
        with open(path, "rb") as file:
            return parse_costs(file.read(MAX_BYTES + 1))
    except OSError as error:
        raise ExplorerError(
            f"The costs in {path} cannot be read ({error.strerror}): check the path."
        ) from error


def write_costs(costs: CostFile, path: str | Path) -> Path:
    """Write it where `path` says. Raises ExplorerError."""
    return write_text(costs.model_dump_json(indent=1) + "\n", path, "The costs")


def shipped_costs() -> dict[str, CostFile]:
    """The cost files that come with the product, by the names of their files."""
    found = {path.stem: read_costs(path) for path in sorted(FOLDER.glob("*.json"))}
    # The fastest first: that is the default backend of its machine.
    return dict(sorted(found.items(), key=lambda item: item[1].curves[0].curve.one_row_ms))
