"""What a running decoder sends to its listeners: small deltas that add up to a trace."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from pydantic import Field

from explorer.records.schema import (
    Header,
    Milliseconds,
    Piece,
    PlainToken,
    Position,
    Record,
    Step,
    TokenId,
    Trace,
    TreeShape,
)


class RunStarted(Record):
    """The model has read the prompt; nothing is decoded yet."""

    header: Header
    pieces: dict[TokenId, Piece]


class StepRecorded(Record):
    """One step of the speculative lane, with the pieces and trees that were not sent before."""

    step: Step
    pieces: dict[TokenId, Piece] = Field(default_factory=dict)
    trees: list[TreeShape] = Field(default_factory=list)


class PositionsRecorded(Record):
    """At the end of the lane: the heads' predictions at positions that no step has sent yet."""

    positions: list[Position]
    pieces: dict[TokenId, Piece] = Field(default_factory=dict)


class PlainStarted(Record):
    """The plain lane of a race has read the prompt."""

    prefill_ms: Milliseconds


class PlainRecorded(Record):
    """One token of the plain lane."""

    token: PlainToken
    pieces: dict[TokenId, Piece] = Field(default_factory=dict)


Event = RunStarted | StepRecorded | PositionsRecorded | PlainStarted | PlainRecorded


class TraceBuilder:
    """Adds up events to a trace, which can be read while the run is in progress."""

    def __init__(self) -> None:
        self.header: Header | None = None
        self.pieces: dict[int, Piece] = {}
        self.trees: list[TreeShape] = []
        self.steps: list[Step] = []
        self.plain: list[PlainToken] = []
        self.plain_prefill_ms: float | None = None

    def add(self, event: Event) -> None:
        """Take in the next event, in the order in which they were sent."""
        if isinstance(event, RunStarted):
            self.header = event.header
            self.pieces.update(event.pieces)
        elif isinstance(event, StepRecorded):
            self.steps.append(event.step)
            self.pieces.update(event.pieces)
            self.trees.extend(event.trees)
        elif isinstance(event, PositionsRecorded):
            last = self.steps[-1]
            positions = [*last.positions, *event.positions]
            self.steps[-1] = last.model_copy(update={"positions": positions})
            self.pieces.update(event.pieces)
        elif isinstance(event, PlainStarted):
            self.plain_prefill_ms = event.prefill_ms
        else:
            self.plain.append(event.token)
            self.pieces.update(event.pieces)

    def trace(self) -> Trace:
        """The trace so far. Raises ValueError before the run has started."""
        if self.header is None:
            raise ValueError("the run has not started")
        return Trace(
            header=self.header,
            pieces=dict(self.pieces),
            trees=list(self.trees),
            steps=list(self.steps),
            plain=list(self.plain),
            plain_prefill_ms=self.plain_prefill_ms,
        )


def collect(events: Iterable[Event]) -> Trace:
    """The trace of a whole run."""
    builder = TraceBuilder()
    for event in events:
        builder.add(event)
    return builder.trace()


def finished(events: Iterable[Event], cancel: threading.Event | None) -> Trace | None:
    """The trace of a run; None if `cancel` ended it."""
    builder = TraceBuilder()
    for event in events:
        builder.add(event)
    return None if cancel is not None and cancel.is_set() else builder.trace()
