"""What a race comes to, as computed once by explorer.analysis.speedup and drawn everywhere."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from explorer.records.record import Record


class LaneFigures(Record):
    """The figures of one lane; those of time and steps are None before its first step."""

    tokens: int
    steps: int
    seconds: float
    tokens_per_second: float | None
    tokens_per_step: float | None
    step_ms: float | None = Field(description="mean time of a step")


class Suggestion(Record):
    """What a reader can do next: look at a step, or run again with some settings changed."""

    does: Literal["look", "run"]
    label: str
    step: int | None = None
    settings: dict[str, str | int] = Field(default_factory=dict)


class RaceFigures(Record):
    """A lane against its rival, as measured so far. Figures without a measurement are None.

    `speedup` is the ratio of their tokens per second, `half_width` the half-width of its 95 %
    interval. `estimate` is True while the rival has too few tokens for figures to be called
    measured. `break_even` is how many tokens per step the lane needs, at its own mean step time,
    to be as fast as its rival. `words` say how the lane stands, `reason` why; `{rival}` is for the
    rival's name. `kind` is "unclear" where the interval holds 1, "busy" where the machine's own
    times vary too much. `telling_step` is the step that shows most.
    """

    lane: LaneFigures
    rival: LaneFigures
    speedup: float | None
    half_width: float | None
    estimate: bool
    break_even: float | None
    kind: Literal["none", "slow", "even", "fast", "unclear", "busy"]
    words: str
    reason: str = ""
    suggestion: Suggestion | None = None
    telling_step: int | None = None
