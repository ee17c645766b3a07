"""What the page asks of the server: run and stop. Looking at steps happens in the browser."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from weakref import WeakValueDictionary

import gradio as gr

from explorer.config import DecodeSettings, decode_settings
from explorer.errors import ExplorerError
from explorer.ui import panels, updates
from explorer.ui.engine import Engine, Turns
from explorer.ui.examples import CHANGED, EXAMPLES
from explorer.ui.limits import Limits
from explorer.ui.page import Page, build_page
from explorer.ui.session import Session, stop_session
from explorer.ui.settings import SettingsInputs
from explorer.ui.theme import ASSETS
from explorer.ui.updates import Update

log = logging.getLogger(__name__)
TURN = 0.1  # seconds of decoding between two messages to the browser
POLL = 0.25
QUIET = {"show_progress": "hidden", "concurrency_limit": 16, "api_visibility": "private"}


class Handlers:
    """The page and its handlers, over one engine and its limits. Built inside a gr.Blocks."""

    def __init__(self, engine: Engine, limits: Limits) -> None:
        self.engine, self.limits = engine, limits
        self._sessions: WeakValueDictionary[str, Session] = WeakValueDictionary()
        self.page: Page = build_page(limits, self.missed)

    def missed(self, key: str, first: int) -> str:
        """The events of a run from number `first` on, for a browser that lacks some."""
        session = self._sessions.get(key)
        if session is None:
            return Session().wire.message(key, first, live=False)
        return session.wire.message(key, first, session.live)

    def run(self, last: Session | None, prompt: str, *values: object) -> Iterator[Update]:
        """Run one race and stream what it does."""
        stop_session(last)
        page, session = self.page, Session()
        try:
            settings = self._settings(prompt, values)
        except ExplorerError as error:
            session.phase, session.problem = "failed", str(error)
            yield {page.session: session} | updates.status(page, session, self.engine)
            return
        self._sessions[session.key] = session
        session.phase, session.ticket = "waiting", self.engine.enter()
        try:
            yield self._started(session)
            yield from self._wait(session)
            yield from self._race(session, prompt, settings)
        finally:
            self.engine.leave(session.ticket)
        yield self._ended(session)

    def stop(self, session: Session | None) -> None:
        """Ask the tab's run to end."""
        stop_session(session)

    def tick(self, session: Session | None) -> Update:
        """Tell how far loading is; once it has ended, tell it a last time and rest."""
        page, state = self.page, self.engine.status
        update = updates.status(page, session or Session(), self.engine)
        if state.phase != "loading":
            update[page.loading] = gr.Timer(active=False)
        update[page.header] = self._header()
        return update

    def _header(self) -> str:
        racer = self.engine.racer
        if racer is not None:
            return panels.header(racer.description, racer.notes)
        failed = self.engine.status.phase == "failed"
        return panels.header("no model" if failed else "loading …", [])

    def _settings(self, prompt: str, values: tuple[object, ...]) -> DecodeSettings:
        if not isinstance(prompt, str) or not prompt.strip():
            raise ExplorerError("The prompt is empty: write something, or pick an example.")
        given = dict(zip(SettingsInputs.names(), values, strict=True))
        given["system_prompt"] = given["system_prompt"] or None
        settings = decode_settings(**given)
        self.limits.check(prompt, settings)
        return settings

    def _started(self, session: Session) -> Update:
        page = self.page
        return (
            {page.session: session}
            | updates.buttons(page, session)
            | updates.status(page, session, self.engine)
        )

    def _wait(self, session: Session) -> Iterator[Update]:
        """Until the model is loaded and this run's turn has come."""
        told = None
        while not session.ticket.cancel.is_set():
            if self.engine.status.phase == "failed":
                session.phase, session.problem = "failed", self.engine.status.text
                return
            if self.engine.racer is not None and self.engine.ahead(session.ticket) == 0:
                return
            update = updates.status(self.page, session, self.engine)
            if update != told:
                told = update
                yield update
            time.sleep(POLL)

    def _race(self, session: Session, prompt: str, settings: DecodeSettings) -> Iterator[Update]:
        if session.phase == "failed":
            return
        turns: Turns | None = None
        try:
            if not session.ticket.cancel.is_set():
                turns = self.engine.race(session.ticket, prompt, self._at_hand(settings))
                yield from self._stream(session, turns)
            session.phase = "stopped" if session.ticket.cancel.is_set() else "done"
        except ExplorerError as error:
            session.phase, session.problem = "failed", str(error)
        except Exception as error:  # a bug: the page must stay usable, and the log must say more
            log.exception("a run failed")
            session.phase = "failed"
            session.problem = (
                f"The run failed unexpectedly ({type(error).__name__}): try another prompt or "
                "other settings; the app goes on."
            )
        finally:
            if turns is not None:
                turns.close()

    def _at_hand(self, settings: DecodeSettings) -> DecodeSettings:
        """The default method gives way to the model's own; without heads both lanes are plain."""
        if settings.method != DecodeSettings().method:
            return settings
        return settings.model_copy(update={"method": self.engine.racer.method})

    def _stream(self, session: Session, turns: Turns) -> Iterator[Update]:
        """The first events at once, then those of a short turn at a time."""
        page, turn = self.page, 0.0
        while (events := turns.advance(turn)) is not None:
            for event in events:
                session.add(event)
            update = updates.explorer(page, session)
            if session.phase == "waiting":
                session.phase = "running"
                update |= updates.status(page, session, self.engine)
            yield update
            turn = TURN if session.ours else 0.0

    def _ended(self, session: Session) -> Update:
        page = self.page
        update = updates.buttons(page, session) | updates.status(page, session, self.engine)
        session.wire.end()
        if session.wire.packed:
            update |= updates.explorer(page, session)
        return update


def connect(engine: Engine, limits: Limits, demo: gr.Blocks) -> Page:
    """Build the page and wire its components to their handlers."""
    handlers = Handlers(engine, limits)
    page = handlers.page
    gr.on(
        [page.run.click, page.prompt.submit],
        handlers.run,
        [page.session, page.prompt, *page.settings.listed()],
        [page.session, page.run, page.stop, page.status, page.explorer],
        show_progress="hidden",
        concurrency_limit=limits.waiting_runs,
        trigger_mode="once",
        api_visibility="private",
    )
    page.stop.click(handlers.stop, page.session, None, **QUIET)
    page.settings_button.click(
        lambda shown: (not shown, gr.Column(visible=not shown)),
        page.settings_open,
        [page.settings_open, page.settings_panel],
        **QUIET,
    )
    changed = [getattr(page.settings, name) for name in CHANGED]
    for button, example in zip(page.examples, EXAMPLES, strict=True):
        values = [example.prompt, *example.changes()]
        button.click(
            lambda values=values: values, None, [page.prompt, *changed], queue=False, **QUIET
        )
    ticking = QUIET | {"outputs": [page.status, page.header, page.loading]}
    page.loading.tick(handlers.tick, page.session, **ticking)
    demo.load(handlers.tick, page.session, **ticking)
    inputs = [page.prompt, *page.settings.listed()]
    demo.load(
        None,
        inputs,
        inputs,
        js=(ASSETS / "ui" / "permalink.js").read_text(encoding="utf-8"),
        api_visibility="private",
    )
    return page
