"""The few facts of a step that a race's figures need: small enough to keep for a whole run."""

from __future__ import annotations

from typing import NamedTuple

from explorer.records.schema import Lane
from explorer.records.step import Step


class StepFacts(NamedTuple):
    """What a race's figures and their sentence need of one step. Times are milliseconds.

    `guessing` is the time of heads or draft model and of choosing; `rows` counts all rows of the
    pass, a lookahead window's too.
    """

    tokens: int
    milliseconds: float
    verify: float
    guessing: float
    rows: int
    rejected: int

    @classmethod
    def of(cls, step: Step) -> StepFacts:
        """The facts of a recorded step."""
        return cls(
            tokens=len(step.emitted),
            milliseconds=step.timings.step,
            verify=step.timings.verify,
            guessing=step.timings.heads + step.timings.draft,
            rows=len(step.token_ids) + step.extra_rows,
            rejected=step.verdicts.count("rejected"),
        )

    @classmethod
    def of_lane(cls, lane: Lane | None) -> list[StepFacts]:
        """The facts of a lane's steps; none of a lane that did not run."""
        return [cls.of(step) for step in lane.steps] if lane else []
