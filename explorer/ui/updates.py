"""From a session to what the page around the step explorer shows."""

from __future__ import annotations

from typing import Any

import gradio as gr

from explorer.figures import numbers
from explorer.ui import panels
from explorer.ui.engine import Engine
from explorer.ui.page import Page
from explorer.ui.session import Session

Update = dict[Any, Any]
READY = "Ready. Write a prompt or pick an example, then press Run."
GO_ON = "Go on from where the text of your last run stops, with the present settings"
BY_ITSELF = "Your run starts by itself when the model is ready."


def header(engine: Engine, here: str = "Explore") -> str:
    """The header of the page called `here`: which model runs, or how far it is."""
    if engine.racer is not None:
        return panels.header(engine.racer.description, engine.racer.notes, here)
    failed = engine.status.phase == "failed"
    return panels.header("no model" if failed else "loading …", [], here)


def status(page: Page, session: Session, engine: Engine) -> Update:
    """The line that says what goes on."""
    return {page.status: _status_html(session, engine)}


def buttons(page: Page, session: Session, why_not: str | None) -> Update:
    """Run while nothing runs, Stop while something does, Continue where there is no `why_not`."""
    return {
        page.run: gr.Button(interactive=not session.live),
        page.stop: gr.Button(interactive=session.live),
        page.go_on: gr.Button(interactive=why_not is None),
        page.why_not: why_not or GO_ON,
    }


def explorer(page: Page, session: Session) -> Update:
    """What the step explorer in the browser has not been told yet."""
    return {page.explorer: session.message()}


def _status_html(session: Session, engine: Engine) -> str:
    if session.phase == "waiting":
        return _waiting(session, engine)
    if session.phase == "running":
        return panels.status("running", "Decoding: both lanes take turns.")
    if session.phase == "failed":
        return panels.status("failed", session.problem)
    if session.phase == "stopped":
        return panels.status("done", "Stopped. What was decoded stays: look through its steps.")
    if session.phase == "done":
        return panels.status("done", _done(session))
    return _engine_status(engine)


def _engine_status(engine: Engine, more: str = "") -> str:
    state = engine.status
    if state.phase == "loading":
        return panels.status("loading", f"{state.text} … {more}", state.fraction)
    if state.phase == "failed":
        return panels.status("failed", state.text)
    return panels.status("empty", READY)


def _waiting(session: Session, engine: Engine) -> str:
    if engine.racer is None:
        return _engine_status(engine, BY_ITSELF)
    ahead = engine.ahead(session.ticket) if session.ticket else 0
    if ahead == 0:
        return panels.status("running", "Reading the prompt.")
    runs = numbers.plural(ahead, "run")
    return panels.status("waiting", f"Waiting: {runs} before yours. It starts by itself.")


def _done(session: Session) -> str:
    same = (
        "Both lanes wrote the same tokens."
        if session.ours == session.theirs
        else "The texts differ: `python -m explorer audit` tells why."
    )
    if session.sampling:
        same = "With sampling, each lane draws its own text."
    return f"Done: {numbers.plural(len(session.ours), 'token')}. {same}"
