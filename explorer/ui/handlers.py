"""The page's requests to the server: run, continue, stop. The browser shows steps by itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from weakref import WeakValueDictionary

import gradio as gr

from explorer.records.continuation import Continuation
from explorer.records.errors import ExplorerError
from explorer.records.paths import ASSETS
from explorer.records.settings import DecodeSettings
from explorer.ui import updates
from explorer.ui.attention import AttentionDesk
from explorer.ui.examples import CHANGED, EXAMPLES
from explorer.ui.limits import Limits
from explorer.ui.page import NOTHING_YET, Page, build_page
from explorer.ui.parts import MANY, QUIET
from explorer.ui.runs import RUNS, at_hand, checked_rival, checked_settings, sentence, until_turn
from explorer.ui.session import Session, stop_session
from explorer.ui.settings import SettingsInputs, shown_settings
from explorer.ui.updates import Update
from explorer.ui.worker import ModelWorker, Ticket, Turns

TURN = 0.1  # seconds of decoding between two messages to the browser


class Handlers:
    """The page and its handlers, over one worker and its limits. Built inside a gr.Blocks."""

    def __init__(self, worker: ModelWorker, limits: Limits) -> None:
        self.worker, self.limits = worker, limits
        self._sessions: WeakValueDictionary[str, Session] = WeakValueDictionary()
        self.page: Page = build_page(
            limits,
            self.missed,
            AttentionDesk(worker, limits).answer,
            runs=not worker.recorded_only,
        )

    def missed(self, key: str, first: int) -> str:
        """The events of a run from number `first` on, for a browser that lacks some."""
        session = self._sessions.get(key)
        if session is None:
            return Session().wire.message(key, first, live=False)
        return session.wire.message(key, first, session.live)

    def run(self, last: Session | None, prompt: str, *values: object) -> Iterator[Update]:
        """Run one race and stream its events."""
        yield from self._run(last, prompt or "", values)

    def go_on(self, last: Session | None, *values: object) -> Iterator[Update]:
        """Continue the tab's text with another race, with the present settings."""
        yield from self._run(last, None, values)

    def _run(
        self, last: Session | None, prompt: str | None, values: tuple[object, ...]
    ) -> Iterator[Update]:
        """`prompt` None: continue the last run's text."""
        session = Session(earlier=last.text if last else None)
        try:
            if prompt is None and (reason := self._why_not(last)):
                raise ExplorerError(reason)
            stop_session(last)
            settings, against = self._settings(prompt, values)
        except ExplorerError as error:
            session.phase, session.problem = "failed", str(error)
            yield {self.page.session: session} | self._standing(session)
            return
        self._sessions[session.key] = session
        session.phase, session.ticket = "waiting", (ticket := self.worker.enter())
        if last is not None:
            last.give_way(session)
        try:
            yield {self.page.session: session} | self._standing(session)
            yield from self._wait(session, ticket)
            begin = session.earlier if prompt is None else prompt
            if begin is not None:
                yield from self._race(session, ticket, begin, settings, against)
        finally:
            self.worker.leave(ticket)
        if not session.superseded:
            yield self._ended(session)

    def asked_again(self, *values: object, event: gr.EventData) -> list[object]:
        """The prompt and settings of a run that the step explorer suggests: some are changed."""
        asked = event._data if isinstance(event._data, dict) else {}
        changes = asked.get("settings")
        changes = changes if isinstance(changes, dict) else {}
        settings = []
        for name, old in zip(SettingsInputs.names(), values, strict=True):
            new = changes.get(name)
            if name == "max_new_tokens" and isinstance(new, int):
                new = min(new, self.limits.new_tokens)
            settings.append(new if _alike(new, old) else old)
        return [str(asked.get("prompt", "")), *settings]

    def stop(self, session: Session | None) -> None:
        """Ask the tab's run to end."""
        stop_session(session)

    def leave(self, session: Session | None) -> Update:
        """Another run is shown now, recorded or out of a file: the tab's own is no longer
        reported and cannot be continued, unless it is still in progress."""
        kept = session if session is not None and session.live else Session()
        return {self.page.session: kept} | self._standing(kept)

    def tick(self, session: Session | None) -> Update:
        """Show the progress of loading; once it has ended, show it a last time and stop."""
        shown = updates.progress(self.page, self.worker)
        return shown | updates.status(self.page, session or Session(), self.worker)

    def _settings(
        self, prompt: str | None, values: tuple[object, ...]
    ) -> tuple[DecodeSettings, str]:
        """The settings of a run, and the method that it races against."""
        given = dict(zip(SettingsInputs.names(), values, strict=True))
        given["system_prompt"] = given["system_prompt"] or None
        against = checked_rival(given.pop("against"), given["method"])
        return checked_settings(prompt, given, self.limits, continues=prompt is None), against

    def _standing(self, session: Session) -> Update:
        """The buttons and the status line."""
        return updates.buttons(self.page, session, self._why_not(session)) | updates.status(
            self.page, session, self.worker
        )

    def _why_not(self, session: Session | None) -> str | None:
        """Why the tab's text cannot be continued, in a sentence; None if it can."""
        if session is not None and session.live:
            return "The run is still in progress: wait for its end, or press Stop."
        text, lab = session and session.text, self.worker.lab
        if text is None or lab is None:
            return NOTHING_YET
        return text.obstacle(lab.context_length) or self.limits.obstacle(text)

    def _wait(self, session: Session, ticket: Ticket) -> Iterator[Update]:
        """Until the model is loaded and this run's turn has come."""
        sent = None
        try:
            for _ in until_turn(self.worker, ticket):
                update = updates.status(self.page, session, self.worker)
                if update != sent:
                    sent = update
                    yield update
        except ExplorerError as error:
            session.phase, session.problem = "failed", str(error)

    def _race(
        self,
        session: Session,
        ticket: Ticket,
        begin: str | Continuation,
        settings: DecodeSettings,
        against: str,
    ) -> Iterator[Update]:
        if session.phase == "failed":
            return
        turns: Turns | None = None
        try:
            lab = self.worker.lab
            if lab is not None and not ticket.cancel.is_set():
                turns = self.worker.race(ticket, begin, at_hand(settings, lab), against)
                yield from self._stream(session, turns)
            session.phase = "stopped" if ticket.cancel.is_set() else "done"
        except Exception as error:
            session.phase, session.problem = "failed", sentence(error)
        finally:
            if turns is not None:
                turns.close()

    def _stream(self, session: Session, turns: Turns) -> Iterator[Update]:
        """The first events immediately, then those of one short turn at a time."""
        page, turn = self.page, 0.0
        while (events := turns.advance(turn)) is not None:
            for event in events:
                session.add(event)
            update = updates.explorer(page, session)
            if session.phase == "waiting":
                session.phase = "running"
                update |= updates.status(page, session, self.worker)
            yield update
            turn = TURN if session.tokens[0] else 0.0

    def _ended(self, session: Session) -> Update:
        update = self._standing(session)
        session.wire.end()
        if session.wire.packed:
            update |= updates.explorer(self.page, session)
        return update


def _alike(new: object, old: object) -> bool:
    """Whether a browser's value may stand for a setting's: both are texts, or both are numbers."""
    return any(isinstance(new, kind) and isinstance(old, kind) for kind in (str, int | float))


def connect(worker: ModelWorker, limits: Limits, demo: gr.Blocks) -> Page:
    """Build the page and wire its components to their handlers."""
    handlers = Handlers(worker, limits)
    page = handlers.page
    _connect_runs(handlers)
    page.stop.click(handlers.stop, page.session, None, **MANY)
    changed = [getattr(page.settings, name) for name in CHANGED]
    page.explorer.select(filled, None, [page.prompt, *changed], queue=False, **MANY)
    around = [page.session, *page.buttons(), page.status]
    gr.on(
        [page.explorer.select, page.explorer.clear],
        handlers.leave,
        page.session,
        around,
        queue=False,
        **MANY,
    )
    loading = [page.status, page.header, page.loading]
    page.loading.tick(handlers.tick, page.session, loading, **MANY)
    demo.load(handlers.tick, page.session, loading, **MANY)
    _connect_settings(page)
    _connect_address(page, demo)
    return page


def _connect_settings(page: Page) -> None:
    """Open and close the settings, and show those that matter for the method at hand."""
    opened, settings = [page.settings_open, page.settings_panel], page.settings
    page.settings_button.click(
        lambda shown: (not shown, gr.Column(visible=not shown)),
        page.settings_open,
        opened,
        **MANY,
    )
    # They lie over the results, which are what is looked at now.
    gr.on(
        [page.run.click, page.prompt.submit, page.go_on.click],
        lambda: (False, gr.Column(visible=False)),
        None,
        opened,
        queue=False,
        **MANY,
    )
    gr.on(
        [settings.method.change, settings.acceptance.change, settings.temperature.change],
        shown_settings,
        [settings.method, settings.acceptance, settings.temperature],
        settings.dependent(),
        queue=False,
        **MANY,
    )


def _connect_address(page: Page, demo: gr.Blocks) -> None:
    """Fill in prompt and settings from the page's address, and remember them as they change."""
    inputs = [page.prompt, *page.settings.listed()]
    offers = gr.JSON(page.settings.offers(), visible=False)
    reads, keeps = (
        (ASSETS / "ui" / name).read_text(encoding="utf-8")
        for name in ("permalink.js", "remember.js")
    )
    demo.load(None, [offers, *inputs], inputs, js=reads, api_visibility="private")
    changes = [one.change for one in inputs]
    gr.on(changes, None, inputs, None, js=keeps, api_visibility="private")


def filled(event: gr.EventData) -> list[object]:
    """The prompt and the settings `CHANGED` of the example that a browser chose, by its name."""
    name = event._data.get("name") if isinstance(event._data, dict) else None
    example = next((one for one in EXAMPLES if one.name == name), EXAMPLES[0])
    return [example.prompt, *example.changes()]


def _connect_runs(handlers: Handlers) -> None:
    page, settings = handlers.page, handlers.page.settings.listed()
    run: dict[str, Any] = QUIET | {
        "outputs": [page.session, *page.buttons(), page.status, page.explorer],
        "concurrency_limit": handlers.limits.waiting_runs,
        "concurrency_id": RUNS,
        "trigger_mode": "once",
    }
    asked = [page.session, page.prompt, *settings]
    gr.on([page.run.click, page.prompt.submit], handlers.run, asked, **run)
    page.go_on.click(handlers.go_on, [page.session, *settings], **run)
    rerun = page.explorer.submit(
        handlers.asked_again, settings, [page.prompt, *settings], queue=False, **MANY
    )
    rerun.then(handlers.run, asked, **run)
