"""The model behind the page: loaded once, on one thread, lent to one run at a time.

All model work happens on a single worker thread (so torch keeps one set of threads and its
thread-local modes hold), in short turns that the page asks for. Between two turns the model
rests, so drawing a page does not disturb the clocks of the lanes.
"""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Literal, Protocol

from explorer.config import DecodeSettings
from explorer.errors import ExplorerError
from explorer.tracing.events import Event

log = logging.getLogger(__name__)
Progress = Callable[[str, float | None], None]


class Racer(Protocol):
    """What the page needs of a loaded model (`explorer.Explorer`)."""

    description: str
    notes: list[str]
    method: str  # the speculative method that it can run; "plain" without heads

    def race(
        self, prompt: str, settings: DecodeSettings, cancel: threading.Event | None = None
    ) -> Iterator[Event]:
        """Both lanes, interleaved. Raises ExplorerError on bad input."""


@dataclass(frozen=True)
class Status:
    """How far loading is. `text` is a sentence for the reader."""

    phase: Literal["loading", "ready", "failed"]
    text: str
    fraction: float | None = None


@dataclass
class Ticket:
    """A place in the queue for the model."""

    number: int
    cancel: threading.Event = field(default_factory=threading.Event)


class Engine:
    """Loads the model in the background and hands it out in turns."""

    def __init__(self, load: Callable[[Progress], Racer]) -> None:
        self._load = load
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="model")
        self._numbers = itertools.count()
        self._queue: list[Ticket] = []
        self._lock = threading.Lock()
        self.status = Status("loading", "Starting")
        self.racer: Racer | None = None

    def start(self) -> None:
        """Begin to load; returns at once."""
        self._worker.submit(self._load_model)

    def enter(self) -> Ticket:
        """Queue up for the model. Always `leave` again."""
        with self._lock:
            ticket = Ticket(next(self._numbers))
            self._queue.append(ticket)
            return ticket

    def leave(self, ticket: Ticket) -> None:
        """Give up a place in the queue, or the model. Harmless when repeated."""
        ticket.cancel.set()
        with self._lock:
            if ticket in self._queue:
                self._queue.remove(ticket)

    def ahead(self, ticket: Ticket) -> int:
        """How many runs come before this one; 0: the model is yours."""
        with self._lock:
            return self._queue.index(ticket) if ticket in self._queue else 0

    def race(self, ticket: Ticket, prompt: str, settings: DecodeSettings) -> Turns:
        """A run in turns. Raises ExplorerError unless the model is loaded."""
        if self.racer is None:
            raise ExplorerError(self.status.text)
        return Turns(self._worker, self.racer.race(prompt, settings, ticket.cancel))

    def _load_model(self) -> None:
        try:
            self.racer = self._load(self._progress)
        except ExplorerError as error:
            self.status = Status("failed", str(error))
        except Exception as error:
            log.exception("loading failed")
            self.status = Status(
                "failed",
                f"The model could not be loaded ({type(error).__name__}: {error!s:.300}): start "
                "the app again with another model or backend.",
            )
        else:
            self.status = Status("ready", self.racer.description)

    def _progress(self, text: str, fraction: float | None = None) -> None:
        self.status = Status("loading", text, fraction)


class Turns:
    """A run that advances on the worker thread, a short turn at a time."""

    def __init__(self, worker: ThreadPoolExecutor, events: Iterator[Event]) -> None:
        self._worker = worker
        self._events = events
        self._turn: Future[list[Event] | None] | None = None

    def advance(self, seconds: float) -> list[Event] | None:
        """The events of about `seconds` of work (at least one event); None at the end.

        Raises whatever the run raises.
        """
        self._turn = self._worker.submit(_take, self._events, seconds)
        return self._turn.result()

    def close(self) -> None:
        """End the run on its own thread and free what it holds; does not wait."""
        self._worker.submit(_close, self._events)


def _take(events: Iterator[Event], seconds: float) -> list[Event] | None:
    end = time.monotonic() + seconds
    taken: list[Event] = []
    for event in events:
        taken.append(event)
        if time.monotonic() >= end:
            break
    return taken or None


def _close(events: Iterator[Event]) -> None:
    close = getattr(events, "close", None)
    if close is not None:
        close()
