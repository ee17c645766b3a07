"""The server's state of one browser tab: its latest run."""

from __future__ import annotations

import secrets
import threading
from dataclasses import dataclass, field
from typing import Literal, Self

from explorer.records.continuation import Continuation
from explorer.records.events import Event, RunStarted, StepRecorded
from explorer.records.figures import RaceFigures
from explorer.records.schema import Header
from explorer.records.step_facts import StepFacts
from explorer.ui.wire import Wire
from explorer.ui.worker import Ticket

Phase = Literal["empty", "waiting", "running", "done", "stopped", "failed"]


_SUCCESSION = threading.Lock()


class Successive:
    """The runs of a tab in order: each one stops the one before it.

    A browser may press a button several times before it hears of the first run, so that several
    begin after the same one. Only the latest continues.
    """

    ticket: Ticket | None
    superseded = False
    _next: Self | None = None

    def stop(self) -> None:
        """Ask this run, and those after it, to end; the tokens so far stay."""
        if self.ticket is not None:
            self.ticket.cancel.set()
        if self._next is not None:
            self._next.stop()

    def give_way(self, to: Self) -> None:
        """End this run and those after it in favour of `to`, which has a ticket."""
        with _SUCCESSION:
            self._give_way(to)

    def _give_way(self, to: Self) -> None:
        self.stop()
        self.superseded = True
        if self._next is not None:
            self._next._give_way(to)
        self._next = to


@dataclass(eq=False)
class Session(Successive):
    """The run of one tab; the tab itself holds the trace and decides what to look at.

    Compared by identity: it grows while handlers look at it. `key` names the run towards the
    browser, and nobody else can guess it. `tokens` are those of both lanes so far;
    `earlier` is the tab's text before this run.
    """

    key: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    wire: Wire = field(default_factory=Wire)
    ticket: Ticket | None = None
    phase: Phase = "empty"
    problem: str = ""
    header: Header | None = None
    tokens: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))
    earlier: Continuation | None = None
    _steps: tuple[list[StepFacts], list[StepFacts]] = field(default_factory=lambda: ([], []))
    _sent: int = 0

    @property
    def live(self) -> bool:
        """Whether the run is in progress or waits for its turn."""
        return self.phase in ("waiting", "running")

    @property
    def sampling(self) -> bool:
        """Whether tokens are sampled, so that the lanes may differ."""
        return self.header is not None and self.header.settings.temperature > 0

    @property
    def text(self) -> Continuation | None:
        """The text of the tab, to continue from; None before there is one."""
        return self.earlier if self.header is None else Continuation(self.header, self.tokens[0])

    def add(self, event: Event) -> None:
        """Take in the next event of the run."""
        self.wire.add(event)
        if isinstance(event, StepRecorded):
            self.tokens[event.lane].extend(event.step.emitted)
            self._steps[event.lane].append(StepFacts.of(event.step))
        elif isinstance(event, RunStarted) and event.lane == 0:
            self.header = event.header

    def message(self) -> str:
        """What the browser has not been sent yet."""
        first, self._sent = self._sent, len(self.wire.packed)
        return self.wire.message(self.key, first, self.live, self.figures())

    def figures(self) -> RaceFigures:
        """The figures of the race so far."""
        from explorer.analysis.speedup import figures_of  # takes a second: the page is first

        return figures_of(*self._steps, self.header.settings if self.header else None)


def stop_session(session: Successive | None) -> None:
    """End a tab's run, if it has one."""
    if session is not None:
        session.stop()
