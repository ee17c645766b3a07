"""What a running decoder sends: small deltas that add up to a trace."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any, Literal

from pydantic import Field

from explorer.records.piece import Piece
from explorer.records.record import Record, TokenId
from explorer.records.schema import Header, Lane, Trace, TreeShape
from explorer.records.step import Position, Step

LaneNumber = Literal[0, 1]


class RunStarted(Record):
    """A lane has read the prompt; nothing is decoded yet.

    `lane` is 0 for the run itself and 1 for its rival in a race; here and below.
    """

    header: Header
    pieces: dict[TokenId, Piece]
    lane: LaneNumber = 0


class StepRecorded(Record):
    """One step of a lane, with the pieces and trees that the lane has not sent before."""

    step: Step
    pieces: dict[TokenId, Piece] = Field(default_factory=dict)
    trees: list[TreeShape] = Field(default_factory=list)
    lane: LaneNumber = 0


class PositionsRecorded(Record):
    """At the end of a lane: what the heads predicted at positions that came with no step."""

    positions: list[Position]
    pieces: dict[TokenId, Piece] = Field(default_factory=dict)
    lane: LaneNumber = 0


Event = RunStarted | StepRecorded | PositionsRecorded


class TraceBuilder:
    """Adds up events to a trace, which can be read while the run is in progress."""

    def __init__(self) -> None:
        self.pieces: dict[int, Piece] = {}
        self._lanes: dict[int, _LaneBuilder] = {}

    def add(self, event: Event) -> None:
        """Take in the next event, in the order in which they were sent."""
        self.pieces.update(event.pieces)
        if isinstance(event, RunStarted):
            self._lanes[event.lane] = _LaneBuilder(event.header)
        else:
            self._lanes[event.lane].add(event)

    @property
    def header(self) -> Header | None:
        """The run's header; None before the run has started."""
        return self._lanes[0].header if 0 in self._lanes else None

    @property
    def steps(self) -> list[Step]:
        """The run's steps so far."""
        return self._lanes[0].steps if 0 in self._lanes else []

    def trace(self) -> Trace:
        """The trace so far. Raises ValueError before the run has started."""
        if 0 not in self._lanes:
            raise ValueError("the run has not started")
        lanes = {number: lane.fields() for number, lane in self._lanes.items()}
        rival = Lane(**lanes[1]) if 1 in lanes else None
        return Trace(pieces=dict(self.pieces), rival=rival, **lanes[0])


class _LaneBuilder:
    """One lane so far."""

    def __init__(self, header: Header) -> None:
        self.header = header
        self.trees: list[TreeShape] = []
        self.steps: list[Step] = []

    def add(self, event: StepRecorded | PositionsRecorded) -> None:
        if isinstance(event, StepRecorded):
            self.steps.append(event.step)
            self.trees.extend(event.trees)
        else:
            last = self.steps[-1]
            positions = [*last.positions, *event.positions]
            self.steps[-1] = last.model_copy(update={"positions": positions})

    def fields(self) -> dict[str, Any]:
        return {"header": self.header, "trees": list(self.trees), "steps": list(self.steps)}


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
