"""The model behind the page: loaded once, on one thread, lent to one run at a time.

All model work happens on a single worker thread (so torch keeps one set of threads and its
thread-local modes hold), in short turns that the page asks for. Between two turns the model
rests, so drawing a page does not disturb the clocks of the lanes.
"""

from __future__ import annotations

import functools
import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from explorer.records.continuation import Continuation
from explorer.records.errors import ExplorerError
from explorer.records.events import Event
from explorer.records.methods import PLAIN
from explorer.records.progress import Progress
from explorer.records.settings import DecodeSettings

if TYPE_CHECKING:
    from explorer.analysis.checkup import Checkup
    from explorer.analysis.who_knew import WhoKnew
    from explorer.lab.lab import Lab
    from explorer.measuring.batch import BatchReport
    from explorer.measuring.comparison import Turn

log = logging.getLogger(__name__)
Item = TypeVar("Item")
Result = TypeVar("Result")


class RecordedOnlyError(ExplorerError):
    """Started without a model: the app shows recorded runs."""


@dataclass(frozen=True)
class Status:
    """The progress of loading. `text` is a sentence for the reader."""

    phase: Literal["loading", "ready", "failed"]
    text: str
    fraction: float | None = None
    recorded_only: bool = False


@dataclass
class Ticket:
    """A place in the queue for the model."""

    number: int
    cancel: threading.Event = field(default_factory=threading.Event)


def _comparison(lab: Lab, **asked: Any) -> Iterator[Turn]:
    from explorer.measuring.comparison import comparison

    return comparison(lab, **asked)


def _batches(lab: Lab, **asked: Any) -> BatchReport:
    from explorer.measuring.batch import measure_batches

    return measure_batches(lab, method=lab.method, **asked)


def _overlap(lab: Lab, methods: list[str], **asked: Any) -> WhoKnew:
    from explorer.measuring.who_knew import runnable, who_knew

    return who_knew(lab, methods=runnable(lab, methods), **asked)


def _checkup(lab: Lab, tokens: int, heads: str, **asked: Any) -> Checkup:
    from explorer.measuring.doctor import examine

    if heads:
        from explorer.lab.loading import with_heads

        lab = with_heads(lab, heads, asked["progress"])
    settings = DecodeSettings(method=lab.method, max_new_tokens=tokens)
    return examine(lab, settings=settings, **asked)


class ModelWorker:
    """Loads the model in the background and hands it out in turns.

    `compare` runs a comparison of methods and `batches` measures passes over several sequences:
    explorer.measuring.comparison and explorer.measuring.batch, but for tests; `checkup` is
    explorer.measuring.doctor, and `overlap` explorer.measuring.who_knew.
    """

    def __init__(
        self,
        load: Callable[[Progress], Lab],
        compare: Callable[..., Iterator[Turn]] = _comparison,
        batches: Callable[..., BatchReport] = _batches,
        checkup: Callable[..., Checkup] = _checkup,
        overlap: Callable[..., WhoKnew] = _overlap,
    ) -> None:
        self._load, self._compare = load, compare
        self._batches, self._checkup, self._overlap = batches, checkup, overlap
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="model")
        self._numbers = itertools.count()
        self._queue: list[Ticket] = []
        self._lock = threading.Lock()
        self.status = Status("loading", "Starting")
        self.lab: Lab | None = None
        self.recorded_only = False  # set where nothing is ever loaded

    def start(self) -> None:
        """Begin to load; returns at once."""
        self._thread.submit(self._load_model)

    def enter(self) -> Ticket:
        """Queue for the model. Always `leave` afterwards."""
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

    def race(
        self,
        ticket: Ticket,
        prompt: str | Continuation,
        settings: DecodeSettings,
        against: str = PLAIN,
    ) -> Turns[Event]:
        """A run in turns with another method. Raises ExplorerError unless the model is loaded."""
        return self.turns(lambda lab: lab.race(prompt, settings, ticket.cancel, against))

    def turns(self, begin: Callable[[Lab], Iterator[Item]]) -> Turns[Item]:
        """What `begin` starts, in turns. Raises ExplorerError unless the model is loaded."""
        return Turns(self._thread, begin(self._loaded()))

    def compare(self, ticket: Ticket, **asked: Any) -> Turns[Turn]:
        """A comparison of methods in turns; `asked` as in explorer.measuring.comparison.

        Raises ExplorerError unless the model is loaded.
        """
        found = self._compare(self._loaded(), cancel=ticket.cancel, **asked)
        return Turns(self._thread, found)

    def batches(self, ticket: Ticket, **asked: Any) -> Future[BatchReport]:
        """Measure batches without turns, until done or the ticket is cancelled; `asked` as in
        explorer.measuring.batch. Raises ExplorerError unless the model is loaded.
        """
        return self._alone(self._batches, ticket, asked)

    def overlap(self, ticket: Ticket, **asked: Any) -> Future[WhoKnew]:
        """Which of the methods knew each token first, without turns; `asked` as in
        explorer.measuring.who_knew. Raises ExplorerError unless the model is loaded.
        """
        return self._alone(self._overlap, ticket, asked)

    def checkup(self, ticket: Ticket, **asked: object) -> Future[Checkup]:
        """Examine the heads without turns; `asked` as in explorer.measuring.doctor, and `tokens`
        of each reply, and `heads`, a folder or Hub id, or "" for those that are loaded.

        Raises ExplorerError unless the model is loaded.
        """
        return self._alone(self._checkup, ticket, asked)

    def _alone(
        self, work: Callable[..., Result], ticket: Ticket, asked: Mapping[str, Any]
    ) -> Future[Result]:
        """Start work that has the model until it is done or the ticket is cancelled."""
        whole = functools.partial(work, cancel=ticket.cancel, **asked)
        return self._thread.submit(whole, self._loaded())

    def _loaded(self) -> Lab:
        if self.lab is None:
            raise ExplorerError(self.status.text)
        return self.lab

    @property
    def busy(self) -> bool:
        """Whether a run has the model or waits for it."""
        with self._lock:
            return bool(self._queue)

    def between_turns(self, work: Callable[[Lab], Result]) -> Result:
        """Do a little work on the model's thread, between two turns of a run.

        A run's clocks count its own steps only. Raises ExplorerError unless the model is loaded,
        and whatever `work` raises.
        """
        return self._thread.submit(work, self._loaded()).result()

    def _load_model(self) -> None:
        try:
            self.lab = self._load(self._progress)
        except ExplorerError as error:
            recorded = isinstance(error, RecordedOnlyError)
            self.status = Status("failed", str(error), recorded_only=recorded)
        except Exception as error:
            log.exception("loading failed")
            self.status = Status(
                "failed",
                f"The model could not be loaded ({type(error).__name__}: {error!s:.300}): start "
                "the app again with another model or backend.",
            )
        else:
            self.status = Status("ready", self.lab.description)

    def _progress(self, text: str, fraction: float | None = None) -> None:
        self.status = Status("loading", text, fraction)


class Turns(Generic[Item]):
    """A run that advances on the worker thread, a short turn at a time."""

    def __init__(self, worker: ThreadPoolExecutor, events: Iterator[Item]) -> None:
        self._thread = worker
        self._events = events
        self._turn: Future[list[Item] | None] | None = None

    def advance(self, seconds: float) -> list[Item] | None:
        """The events of about `seconds` of work (at least one event); None at the end.

        Raises whatever the run raises.
        """
        self._turn = self._thread.submit(_take, self._events, seconds)
        return self._turn.result()

    def close(self) -> None:
        """End the run on its own thread and free what it holds; does not wait."""
        self._thread.submit(_close, self._events)


def _take(events: Iterator[Item], seconds: float) -> list[Item] | None:
    end = time.monotonic() + seconds
    taken: list[Item] = []
    for event in events:
        taken.append(event)
        if time.monotonic() >= end:
            break
    return taken or None


def _close(events: Iterator[object]) -> None:
    close = getattr(events, "close", None)
    if close is not None:
        close()
