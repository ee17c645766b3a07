"""C(n): the cost of a verify pass over n rows, in one-row passes.

measuring/cost_curve.py measures it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated

import numpy as np
from pydantic import BaseModel as Schema
from pydantic import ConfigDict, Field, model_validator


def nearest_length(lengths: Iterable[int], context_length: int) -> int:
    """Of the context lengths that something was measured at, the closest on a log scale."""
    return min(lengths, key=lambda length: abs(math.log((length + 1) / (context_length + 1))))


class CostCurve(Schema):
    """Measured cost of a verify pass by its number of rows (the root counted).

    `milliseconds` are medians; `ratios` are C(n), medians over rounds of the time of n rows over
    that of the one-row passes right before and after.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    context_length: int = Field(ge=0, description="tokens in the KV cache during the passes")
    rounds: int = Field(ge=1)
    one_row_ms: float = Field(gt=0)
    rows: list[int] = Field(min_length=1)
    milliseconds: list[float]
    ratios: list[Annotated[float, Field(gt=0)]]

    @model_validator(mode="after")
    def _columns_agree(self) -> CostCurve:
        if not len(self.rows) == len(self.milliseconds) == len(self.ratios):
            raise ValueError("rows, milliseconds and ratios must have the same length")
        if self.rows != sorted(set(self.rows)) or self.rows[0] < 1:
            raise ValueError("rows must rise from 1 or more")
        return self

    def at(self, n: int) -> float:
        """C(n), interpolated between measured widths, and extrapolated with the last slope.

        One row costs 1 by definition. A wider pass never counts as cheaper than a narrower one:
        such medians are noise.
        """
        rows = np.array([1, *(n for n in self.rows if n > 1)], dtype=float)
        wide = [c for m, c in zip(self.rows, self.ratios, strict=True) if m > 1]
        costs = np.maximum.accumulate([1.0, *wide])
        if n <= rows[-1] or len(rows) < 2:
            return float(np.interp(n, rows, costs))
        slope = (costs[-1] - costs[-2]) / (rows[-1] - rows[-2])
        return float(costs[-1] + slope * (n - rows[-1]))


def mean_cost(curves: Sequence[CostCurve]) -> Callable[[int], float]:
    """C(n), averaged over the context lengths it was measured at."""
    return lambda n: sum(curve.at(n) for curve in curves) / len(curves)
