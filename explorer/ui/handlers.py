"""What the page does: run, stop, and look at steps. One session per browser tab."""

from __future__ import annotations

import itertools
import logging
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import gradio as gr

from explorer.config import DecodeSettings, decode_settings
from explorer.errors import ExplorerError
from explorer.tracing.files import SUFFIX, write_trace
from explorer.ui import panels, updates
from explorer.ui.engine import Engine, Turns
from explorer.ui.examples import EXAMPLES
from explorer.ui.limits import Limits
from explorer.ui.page import Page
from explorer.ui.session import Session, stop_session
from explorer.ui.settings import SettingsInputs
from explorer.ui.updates import Update

log = logging.getLogger(__name__)
TURN = 0.1  # seconds of decoding between two updates of the text
LONG_TEXT = 4_000  # tokens; a text this long doubles the time between updates
SELDOM = 0.6  # seconds between updates of the run's figures and of the step's, in turn
LARGE_TREE = 16  # rows; a tree this large doubles that time: a browser draws it more slowly
POLL = 0.25
STEP_HANDLERS = {"show_progress": "hidden", "concurrency_limit": 16, "api_visibility": "private"}


class Handlers:
    """The page's handlers, over one engine and its limits."""

    def __init__(self, page: Page, engine: Engine, limits: Limits) -> None:
        self.page, self.engine, self.limits = page, engine, limits

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
        session.phase, session.ticket = "waiting", self.engine.enter()
        try:
            yield self._started(session)
            yield from self._wait(session)
            yield from self._race(session, prompt, settings)
        finally:
            self.engine.leave(session.ticket)
        with tempfile.TemporaryDirectory(prefix="medusa-explorer-") as folder:
            yield self._ended(session, Path(folder))  # the page keeps its own copy of the file

    def stop(self, session: Session | None) -> None:
        """Ask the tab's run to end."""
        if session is not None:
            session.stop()

    def seek(self, session: Session | None, number: float | None) -> Update:
        """Look at step `number` (1-based)."""
        return self._show(session, int(number or 1) - 1)

    def previous(self, session: Session | None) -> Update:
        """One step back."""
        return self._show(session, self._shown(session) - 1)

    def following(self, session: Session | None) -> Update:
        """One step on."""
        return self._show(session, self._shown(session) + 1)

    def follow(self, session: Session | None, follow: bool) -> Update:
        """Follow the newest step, or stay."""
        if session is None:
            return {}
        if follow:
            session.follow, session.row = True, None
        elif (shown := session.shown_step()) is not None:
            session.show(shown)
        return updates.sought(self.page, session)

    def choose(self, session: Session | None, row: int | None) -> Update:
        """Look at the node in a row of the step on view; the view then stays on that step."""
        if session is None or row is None or (shown := session.shown_step()) is None:
            return {}
        session.show(shown)
        session.row = int(row)
        return updates.node(self.page, session) | {self.page.follow: False}

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
        settings = decode_settings(method="medusa", **given)
        self.limits.check(prompt, settings)
        return settings

    def _started(self, session: Session) -> Update:
        page = self.page
        return (
            {page.session: session}
            | updates.cleared(page)
            | updates.lanes(page, session)
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
                # A model without heads still decodes: then both lanes are plain.
                settings = settings.model_copy(update={"method": self.engine.racer.method})
                turns = self.engine.race(session.ticket, prompt, settings)
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

    def _stream(self, session: Session, turns: Turns) -> Iterator[Update]:
        """Text often, figures seldom, the step view only while it follows."""
        page, drawn, turn = self.page, 0.0, 0.0
        figures = itertools.cycle((updates.overview, updates.step))
        while (events := turns.advance(turn)) is not None:
            for event in events:
                session.run.add(event)
            update: Update = {}
            if session.phase == "waiting":
                session.phase = "running"
                update |= updates.status(page, session, self.engine)
            if session.run.steps and time.monotonic() - drawn >= _pause(session):
                drawn, draw = time.monotonic(), next(figures)
                if draw is updates.overview or session.follow:
                    update |= draw(page, session)
            yield update | updates.lanes(page, session)
            turn = TURN * (1 + len(session.run.plain) / LONG_TEXT)

    def _ended(self, session: Session, folder: Path) -> Update:
        page = self.page
        update = updates.buttons(page, session) | updates.status(page, session, self.engine)
        if not session.run.steps:
            return update
        update |= updates.lanes(page, session) | updates.overview(page, session)
        update |= updates.step(page, session)
        update[page.save] = gr.DownloadButton(value=str(_saved(session, folder)), interactive=True)
        return update

    def _shown(self, session: Session | None) -> int:
        return (session.shown_step() or 0) if session else 0

    def _show(self, session: Session | None, index: int) -> Update:
        if session is None:
            return {}
        session.show(index)
        return updates.sought(self.page, session)


def connect(page: Page, engine: Engine, limits: Limits, demo: gr.Blocks) -> None:
    """Wire the components to their handlers."""
    handlers = Handlers(page, engine, limits)
    unwritten = (page.prompt, page.loading, page.settings_open, page.settings_panel)
    written = [
        component
        for component in vars(page).values()
        if isinstance(component, gr.blocks.Block) and component not in unwritten
    ]
    gr.on(
        [page.run.click, page.prompt.submit],
        handlers.run,
        [page.session, page.prompt, *page.settings.listed()],
        written,
        show_progress="hidden",
        concurrency_limit=limits.waiting_runs,
        trigger_mode="once",
        api_visibility="private",
    )
    quick = STEP_HANDLERS | {"outputs": written}
    page.stop.click(handlers.stop, page.session, None, **STEP_HANDLERS)
    page.slider.input(
        handlers.seek, [page.session, page.slider], trigger_mode="always_last", **quick
    )
    page.previous.click(handlers.previous, page.session, trigger_mode="multiple", **quick)
    page.following.click(handlers.following, page.session, trigger_mode="multiple", **quick)
    page.follow.input(handlers.follow, [page.session, page.follow], **quick)
    page.node_choice.input(handlers.choose, [page.session, page.node_choice], **quick)
    page.settings_button.click(
        lambda shown: (not shown, gr.Column(visible=not shown)),
        page.settings_open,
        [page.settings_open, page.settings_panel],
        **STEP_HANDLERS,
    )
    for button, example in zip(page.examples, EXAMPLES, strict=True):
        button.click(
            lambda prompt=example.prompt: prompt, None, page.prompt, queue=False, **STEP_HANDLERS
        )
    ticking = STEP_HANDLERS | {"outputs": [page.status, page.header, page.loading]}
    page.loading.tick(handlers.tick, page.session, **ticking)
    demo.load(handlers.tick, page.session, **ticking)


def _pause(session: Session) -> float:
    """Seconds between two updates of the figures while the run goes on."""
    rows = len(session.run.steps[-1].token_ids) if session.follow else 0
    return SELDOM * (1 + rows / LARGE_TREE)


def _saved(session: Session, folder: Path) -> Path:
    """Write the session's trace into a folder."""
    name = f"medusa-trace-{datetime.now():%Y%m%d-%H%M%S}{SUFFIX}"
    return write_trace(session.run.trace(), folder / name)
