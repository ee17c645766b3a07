"""Clocks that split a step's time into named laps."""

from __future__ import annotations

import time
from typing import Protocol

import torch

from explorer.kernels.graphs import Recordings


class Stopwatch(Protocol):
    """Splits a step's time into named laps. Recording a pass belongs to no step and is left out."""

    def lap(self, name: str) -> None:
        """Book the time since the last lap under `name`."""
        ...

    @property
    def laps(self) -> dict[str, float]:
        """Seconds by name, so far."""
        ...


class HostStopwatch:
    """The clock of a CPU."""

    def __init__(self, recordings: Recordings | None = None) -> None:
        self._recordings = recordings
        self.laps: dict[str, float] = {}
        self._last = self._now()

    def _now(self) -> float:
        return time.perf_counter() - (self._recordings.seconds if self._recordings else 0.0)

    def lap(self, name: str) -> None:
        """See Stopwatch."""
        now = self._now()
        self.laps[name] = self.laps.get(name, 0.0) + now - self._last
        self._last = now


class EventStopwatch:
    """The clock of a GPU: events in its queue, which no one waits for until the laps are read."""

    def __init__(self, device: torch.device, recordings: Recordings | None = None) -> None:
        self._stream = torch.cuda.current_stream(device)
        self._recordings = recordings
        self._marks = [("", *self._now())]

    def _now(self) -> tuple[torch.cuda.Event, float]:
        event = torch.cuda.Event(enable_timing=True)
        event.record(self._stream)
        return event, self._recordings.seconds if self._recordings else 0.0

    def lap(self, name: str) -> None:
        """See Stopwatch."""
        self._marks.append((name, *self._now()))

    @property
    def laps(self) -> dict[str, float]:
        """See Stopwatch. Waits for the last lap's event."""
        laps: dict[str, float] = {}
        self._marks[-1][1].synchronize()
        for (_, start, before), (name, end, after) in zip(
            self._marks[:-1], self._marks[1:], strict=True
        ):
            seconds = start.elapsed_time(end) / 1000 - (after - before)
            laps[name] = laps.get(name, 0.0) + max(0.0, seconds)
        return laps
