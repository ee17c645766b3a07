"""The parts of a step's time."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel as Schema
from pydantic import ConfigDict

PARTS = ("heads", "draft", "verify", "accept", "commit")
OUTSIDE = ("draft", "accept", "commit")  # neither the base model's pass nor the heads'


class Shares(Schema):
    """Share of a step's time by part, 0…1. `outside` = draft + accept + commit; they sum to 1."""

    model_config = ConfigDict(frozen=True)

    heads: float
    draft: float
    verify: float
    accept: float
    commit: float
    outside: float


def shares(laps: Iterable[dict[str, float]]) -> Shares | None:
    """Shares from the laps of many steps, in any unit; None if no time was measured."""
    totals = dict.fromkeys(PARTS, 0.0)
    for lap in laps:
        for part in PARTS:
            totals[part] += lap.get(part, 0.0)
    whole = sum(totals.values())
    if whole <= 0:
        return None
    parts = {part: total / whole for part, total in totals.items()}
    return Shares(**parts, outside=sum(parts[part] for part in OUTSIDE))
