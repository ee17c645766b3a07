"""The Compare page's requests to the server: compare, and stop."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, wait
from typing import Any
from weakref import WeakValueDictionary

import gradio as gr

from explorer.records import numbers
from explorer.records.errors import ExplorerError
from explorer.records.settings import DecodeSettings
from explorer.ui import updates
from explorer.ui.compare_page import ComparePage, build_compare_page
from explorer.ui.compare_request import Request, aside_of, checked
from explorer.ui.compare_session import CompareSession, encoded
from explorer.ui.limits import Limits
from explorer.ui.parts import MANY, QUIET
from explorer.ui.runs import sentence, until_turn
from explorer.ui.served_rows import ServedRows
from explorer.ui.session import stop_session
from explorer.ui.updates import Update
from explorer.ui.worker import ModelWorker, Ticket

TURN = 0.25  # seconds of work between two messages to the browser
POLL = 0.25
COMPARED = ("prompts", "methods", "max_new_tokens", "tree")  # in a request for a comparison
BATCH_PROMPTS = 4  # decoded to measure τ; the batches need no text
NEEDS_MODEL = (
    "Comparing methods needs a model, and this app shows recorded runs only: start it without "
    "--replay."
)


class CompareHandlers:
    """The page and its handlers, over one worker and its limits. Built inside a gr.Blocks."""

    def __init__(
        self, worker: ModelWorker, limits: Limits, served: ServedRows | None = None
    ) -> None:
        self.worker, self.limits = worker, limits
        self.served = served or ServedRows()
        self._sessions: WeakValueDictionary[str, CompareSession] = WeakValueDictionary()
        self.page: ComparePage = build_compare_page(
            limits, self.missed, runs=not worker.recorded_only
        )

    def missed(self, key: str, first: int) -> str:
        """The events of a comparison from number `first` on, for a browser that lacks some."""
        session = self._sessions.get(key)
        return (session or CompareSession(key)).message_from(first)

    def run(self, last: CompareSession | None, event: gr.EventData) -> Iterator[Update]:
        """Run one comparison and stream its results."""
        stop_session(last)
        session = CompareSession(aside=aside_of(event._data))
        try:
            request = checked(event._data, self.limits)
        except ExplorerError as error:
            session.phase, session.problem = "failed", str(error)
            yield self._shown(session)
            return
        self._sessions[session.key] = session
        session.phase, session.ticket = "waiting", (ticket := self.worker.enter())
        if last is not None:
            last.give_way(session)
        try:
            yield from self._work(session, ticket, request)
        finally:
            self.worker.leave(ticket)
        if not session.superseded:
            yield self._shown(session)

    def stop(self, session: CompareSession | None) -> None:
        """Ask the tab's comparison to end."""
        stop_session(session)

    def tick(self) -> Update:
        """Show the progress of loading; once it has ended, show it a last time and stop."""
        shown = updates.progress(self.page, self.worker, "Compare")
        engine = vars(self.worker.status) | {"text": self._status_text()}
        return shown | {self.page.compare: encoded({"engine": engine})}

    def opened(self) -> Update:
        """Beside `tick`: the same heads on a server, as last measured, or as they were recorded."""
        return self.tick() | {self.page.served: self.served.html()}

    def _status_text(self) -> str:
        status = self.worker.status
        return NEEDS_MODEL if status.recorded_only else status.text

    def _shown(self, session: CompareSession) -> Update:
        return {self.page.session: session, self.page.compare: session.message()}

    def _wait(self, session: CompareSession, ticket: Ticket) -> Iterator[Update]:
        """Until the model is loaded and this comparison's turn has come."""
        sent = None
        for _ in until_turn(self.worker, ticket):
            session.text = self._waiting(ticket)
            if session.text != sent:
                sent = session.text
                yield self._shown(session)

    def _waiting(self, ticket: Ticket) -> str:
        if self.worker.lab is None:
            return f"{self.worker.status.text}. The comparison starts by itself after that."
        runs = numbers.plural(self.worker.ahead(ticket), "run")
        return f"Waiting: {runs} before yours. It starts by itself."

    def _work(self, session: CompareSession, ticket: Ticket, request: Request) -> Iterator[Update]:
        try:
            yield from self._wait(session, ticket)
            if not ticket.cancel.is_set():
                session.start()
                work = self._aside if request.aside else self._compare
                yield from work(session, ticket, request)
            session.phase = "stopped" if ticket.cancel.is_set() else "done"
        except Exception as error:
            cancelled = ticket.cancel.is_set() and isinstance(error, ExplorerError)
            session.phase = "stopped" if cancelled else "failed"
            session.problem = NEEDS_MODEL if self.worker.status.recorded_only else sentence(error)

    def _compare(
        self, session: CompareSession, ticket: Ticket, request: Request
    ) -> Iterator[Update]:
        asked = {name: getattr(request, name) for name in COMPARED}
        turns = self.worker.compare(ticket, **asked)
        try:
            yield self._shown(session)
            while (events := turns.advance(TURN)) is not None:
                if not session.packed:  # it was not refused
                    session.packed.append(["prompts", request.prompts])
                for turn in events:
                    session.add(turn)
                yield self._shown(session)
        finally:
            turns.close()

    def _aside(self, session: CompareSession, ticket: Ticket, request: Request) -> Iterator[Update]:
        work = self._asked(session, ticket, request)
        while not work.done():
            yield self._shown(session)
            wait([work], timeout=POLL)
        session.packed.append([request.aside, work.result().model_dump(mode="json")])

    def _asked(self, session: CompareSession, ticket: Ticket, request: Request) -> Future[Any]:
        """The measurement that is asked for besides a comparison, begun."""
        tokens, progress = request.max_new_tokens, session.progress
        if request.aside == "overlap":
            first = request.prompts[0]["prompt"]
            settings = DecodeSettings(max_new_tokens=tokens, tree=request.tree)
            return self.worker.overlap(
                ticket, prompt=first, settings=settings, methods=request.methods, progress=progress
            )
        some = request.prompts[:BATCH_PROMPTS]
        return self.worker.batches(ticket, prompts=some, max_new_tokens=tokens, progress=progress)


def connect_compare(
    worker: ModelWorker, limits: Limits, demo: gr.Blocks, served: ServedRows | None = None
) -> ComparePage:
    """Build the Compare page and wire its components to their handlers."""
    handlers = CompareHandlers(worker, limits, served)
    page = handlers.page
    page.compare.submit(
        handlers.run,
        page.session,
        [page.session, page.compare],
        concurrency_limit=limits.waiting_runs,
        trigger_mode="once",
        **QUIET,
    )
    page.compare.stop(handlers.stop, page.session, None, **MANY)
    loading = [page.header, page.compare, page.loading]
    page.loading.tick(handlers.tick, None, loading, **MANY)
    demo.load(handlers.opened, None, [*loading, page.served], **MANY)
    return page
