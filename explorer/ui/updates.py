"""From a session to what the page shows: each function returns {component: new value}."""

from __future__ import annotations

from typing import Any

import gradio as gr

from explorer.analysis.speedup import race_figures
from explorer.figures import lengths_figure, mask_figure, numbers, race_figure, tree_figure
from explorer.figures.palette import LOOKS
from explorer.figures.view import StepView, step_view
from explorer.ui import panels
from explorer.ui.engine import Engine
from explorer.ui.lanes import medusa_lane, plain_lane
from explorer.ui.page import NODE_HINT, Page
from explorer.ui.session import Session

Update = dict[Any, Any]
SPECULATIVE = {"medusa": "Medusa", "plain": "Plain again (no heads are loaded)"}
READY = "Ready. Write a prompt or pick an example, then press Run."


def lanes(page: Page, session: Session) -> Update:
    """Text and figures of both lanes: cheap, sent often."""
    run = session.run
    figures = race_figures(run.steps, run.plain)
    tokens = sum(len(step.emitted) for step in run.steps)
    per_step = f"{numbers.ratio(figures.tokens_per_step)} tokens per step"
    return {
        page.medusa_head: panels.lane_head(_lane_name(session), figures.medusa_tps, per_step),
        page.medusa_text: medusa_lane(run, session.shown_step()),
        page.plain_head: panels.lane_head(
            "Plain", figures.plain_tps, "1 token per step" if run.plain else ""
        ),
        page.plain_text: plain_lane(run),
        page.speedup: panels.speedup(figures, tokens, len(run.steps), len(run.plain)),
    }


def _lane_name(session: Session) -> str:
    header = session.run.header
    return SPECULATIVE[header.settings.method if header else "medusa"]


def overview(page: Page, session: Session) -> Update:
    """The figures over the whole run, and how far the slider goes: sent seldom."""
    run = session.run
    update: Update = {page.race: race_figure(run.steps, run.plain)}
    if run.steps:
        update[page.slider] = _slider(session)
        update[page.lengths] = lengths_figure(run.steps, session.shown_step())
    return update


def step(page: Page, session: Session) -> Update:
    """Everything about the step on view, but for the figures over the whole run."""
    index = session.shown_step()
    if index is None:
        return {}
    run = session.run
    view = step_view(run, index)
    row = _row(session, view)
    return {
        page.step_title: panels.step_title(view, len(run.steps)),
        page.medusa_text: medusa_lane(run, index),
        page.cost: panels.cost(view),
        page.tree: tree_figure(view, session.row),
        page.mask: mask_figure(view),
        page.node_choice: gr.Dropdown(choices=_choices(view), value=row),
        page.node: panels.node(view, row),
        page.follow: session.follow,
    }


def sought(page: Page, session: Session) -> Update:
    """Another step came on view: all about it, and its place in the run."""
    index = session.shown_step()
    if index is None:
        return {}
    return step(page, session) | {
        page.slider: _slider(session),
        page.lengths: lengths_figure(session.run.steps, index),
    }


def node(page: Page, session: Session) -> Update:
    """The chosen node: its verdict, and its ring in the tree."""
    index = session.shown_step()
    if index is None:
        return {}
    view = step_view(session.run, index)
    row = _row(session, view)
    return {page.node: panels.node(view, row), page.tree: tree_figure(view, row)}


def status(page: Page, session: Session, engine: Engine) -> Update:
    """The line that says what goes on."""
    return {page.status: _status_html(session, engine)}


def buttons(page: Page, session: Session) -> Update:
    """Run while nothing runs, Stop while something does."""
    return {
        page.run: gr.Button(interactive=not session.live),
        page.stop: gr.Button(interactive=session.live),
    }


def cleared(page: Page) -> Update:
    """A step view without a step."""
    return {
        page.step_title: panels.empty_step(),
        page.lengths: lengths_figure([]),
        page.race: race_figure([], []),
        page.tree: None,
        page.mask: None,
        page.cost: panels.no_cost(),
        page.node: panels.nothing_yet(NODE_HINT),
        page.node_choice: gr.Dropdown(choices=[], value=None),
        page.slider: gr.Slider(minimum=1, maximum=2, value=1),
        page.save: gr.DownloadButton(value=None, interactive=False),
        page.follow: True,
    }


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


def _engine_status(engine: Engine) -> str:
    state = engine.status
    if state.phase == "loading":
        return panels.status("loading", f"{state.text} …", state.fraction)
    if state.phase == "failed":
        return panels.status("failed", state.text)
    return panels.status("empty", READY)


def _waiting(session: Session, engine: Engine) -> str:
    if engine.racer is None:
        return _engine_status(engine)
    ahead = engine.ahead(session.ticket) if session.ticket else 0
    if ahead == 0:
        return panels.status("running", "Reading the prompt.")
    runs = numbers.plural(ahead, "run")
    return panels.status("waiting", f"Waiting: {runs} before yours. It starts by itself.")


def _done(session: Session) -> str:
    run = session.run
    ours = [token for step in run.steps for token in step.emitted]
    theirs = [token.token_id for token in run.plain]
    same = (
        "Both lanes wrote the same tokens."
        if ours == theirs
        else "The texts differ: `python -m explorer audit` tells why."
    )
    if run.header and run.header.settings.temperature > 0:
        same = "With sampling, each lane draws its own text."
    return f"Done: {numbers.plural(len(ours), 'token')}. {same}"


def _slider(session: Session) -> gr.Slider:
    """The slider reaches to the newest step; it moves only where the view does."""
    shown, total = session.shown_step() or 0, len(session.run.steps)
    return gr.Slider(minimum=1, maximum=max(2, total), value=shown + 1)


def _row(session: Session, view: StepView) -> int:
    """The chosen row; else the one that says most: the first rejected one, the path's last."""
    if session.row is not None and session.row < view.rows:
        return session.row
    rejected = [row for row, verdict in enumerate(view.step.verdicts) if verdict == "rejected"]
    return rejected[0] if rejected else view.step.accepted[-1]


def _choices(view: StepView) -> list[tuple[str, int]]:
    return [
        (f"{LOOKS[verdict].sign} {view.label(row, 20)} · {LOOKS[verdict].meaning}", row)
        for row, verdict in enumerate(view.step.verdicts)
    ]
