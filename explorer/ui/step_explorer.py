"""The step explorer as a Gradio component. Its JavaScript is in assets/step_explorer."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import gradio as gr
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.staticfiles import StaticFiles

from explorer.records.paths import ASSETS
from explorer.ui.old_traces import upgraded

# Folders of assets/ that the browser asks for, by the path that they are served at.
SERVED = {
    "step_explorer": "step_explorer",
    "traces": "traces",
    "compare-files": "compare",
    "serving": "serving",
    "ui-files": "ui",
    "learn-files": "learn",
}


def step_explorer(
    missed: Callable[[str, int], str], attention: Callable[[str], str], **more: Any
) -> gr.HTML:
    """Holds a run in the browser; its value is the latest message of explorer.ui.wire.Wire.

    `missed(run, first)` gives a run's message from event number `first` on, for a browser that
    did not get some; `attention(question)` is explorer.ui.attention.AttentionDesk.answer. A trace
    of an earlier format comes back upgraded. (No subclass: Gradio writes a .pyi file beside each
    one's source.)
    """

    def missed_events(asked: object) -> str:
        return missed(*run_and_event(asked))

    def attention_weights(question: str) -> str:
        return attention(question)

    def upgraded_trace(file: str) -> str:
        return upgraded(file)

    return gr.HTML(
        value="",
        html_template='<div class="sx-here"></div>',
        js_on_load=(ASSETS / "step_explorer" / "gradio.js").read_text(encoding="utf-8"),
        apply_default_css=False,
        server_functions=[missed_events, attention_weights, upgraded_trace],
        **more,
    )


def run_and_event(asked: object) -> tuple[str, int]:
    """A browser's request for missing events: the run's key, and the number of the first event.

    A request of another form names no run, so its answer is empty.
    """
    match asked:
        case [str(run), int(first)] if first >= 0:
            return run, first
    return "", 0


def routes() -> list[BaseRoute]:
    """The routes of the components' own files."""
    return [_route(path, StaticFiles(directory=ASSETS / folder)) for path, folder in SERVED.items()]


def _route(path: str, files: StaticFiles) -> BaseRoute:
    # No Mount: behind a proxy that strips a prefix, a mounted app would strip it again.
    async def answer(request: Request) -> Response:
        asked = os.path.normpath(os.path.join(*request.path_params["file"].split("/")))
        found = await files.get_response(asked, request.scope)
        found.headers["cache-control"] = "no-cache"  # asked for again, so that an update arrives
        return found

    return Route(f"/{path}/{{file:path}}", answer, methods=["GET", "HEAD"])
