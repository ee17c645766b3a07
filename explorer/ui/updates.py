"""From a session to the page around the step explorer."""

from __future__ import annotations

from typing import Any, Protocol

import gradio as gr

from explorer.records import numbers
from explorer.ui import panels
from explorer.ui.page import Page
from explorer.ui.session import Session
from explorer.ui.worker import ModelWorker

Update = dict[Any, Any]
READY = "Ready. Write a prompt or pick an example, then press Run."
GO_ON = "Continue the text of your last run, with the present settings"
BY_ITSELF = "Your run starts by itself when the model is ready."


def header(worker: ModelWorker, here: str = "Explore") -> str:
    """The header of the page called `here`: the model, or the progress of loading it."""
    if worker.lab is not None:
        return panels.header(worker.lab.description, worker.lab.notes, here)
    failed = worker.status.phase == "failed"
    return panels.header("no model" if failed else "loading …", [], here)


class Loads(Protocol):
    """A page that shows in its header how far loading is, at each beat of a timer."""

    @property
    def header(self) -> gr.HTML:
        """Shows the model, or how far loading is."""
        ...

    @property
    def loading(self) -> gr.Timer:
        """Beats until loading has ended."""
        ...


def progress(page: Loads, worker: ModelWorker, here: str = "Explore") -> Update:
    """The progress of loading; once it has ended, its outcome, and the timer stops."""
    loading = worker.status.phase == "loading"  # read first: what ends meanwhile is shown once more
    update: Update = {page.header: header(worker, here)}
    if not loading:
        update[page.loading] = gr.Timer(active=False)
    return update


def status(page: Page, session: Session, worker: ModelWorker) -> Update:
    """The status line."""
    return {page.status: _status_html(session, worker)}


def buttons(page: Page, session: Session, why_not: str | None) -> Update:
    """Run while nothing runs, Stop while something does, Continue where there is no `why_not`."""
    return {
        page.run: gr.Button(interactive=not session.live),
        page.stop: gr.Button(interactive=session.live),
        page.go_on: gr.Button(interactive=why_not is None),
        page.why_not: why_not or GO_ON,
    }


def explorer(page: Page, session: Session) -> Update:
    """The message with what the step explorer in the browser does not have yet."""
    return {page.explorer: session.message()}


def _status_html(session: Session, worker: ModelWorker) -> str:
    if session.phase == "waiting":
        return _waiting(session, worker)
    if session.phase == "running":
        return panels.status("running", "Decoding: both methods take turns.")
    if session.phase == "failed":
        return panels.status("failed", session.problem)
    if session.phase == "stopped":
        return panels.status("done", "Stopped. You can look through the steps so far.")
    if session.phase == "done":
        return panels.status("done", _done(session))
    return _worker_status(worker)


def _worker_status(worker: ModelWorker, more: str = "") -> str:
    state = worker.status
    if state.phase == "loading":
        return panels.status("loading", f"{state.text} … {more}", state.fraction)
    if state.phase == "failed":
        return panels.status("failed", state.text)
    return panels.status("empty", READY)


def _waiting(session: Session, worker: ModelWorker) -> str:
    if worker.lab is None:
        return _worker_status(worker, BY_ITSELF)
    ahead = worker.ahead(session.ticket) if session.ticket else 0
    if ahead == 0:
        return panels.status("running", "Reading the prompt.")
    runs = numbers.plural(ahead, "run")
    return panels.status("waiting", f"Waiting: {runs} before yours. It starts by itself.")


def _done(session: Session) -> str:
    if session.tokens[0] == session.tokens[1]:
        said = "Both methods wrote the same tokens."
    elif session.sampling:
        said = "The texts differ: with sampling, each method draws its own."
    else:
        said = "The texts differ: the command 'python -m explorer audit' shows why."
    return f"Done: {numbers.plural(len(session.tokens[0]), 'token')}. {said}"
