"""A Compare page over scripted races, and what it sends."""

from __future__ import annotations

import json
from types import SimpleNamespace

import gradio as gr

from explorer.ui.compare_handlers import CompareHandlers
from explorer.ui.limits import PRIVATE
from explorer.ui.worker import ModelWorker
from tests.ui.compare_fakes import comparison
from tests.ui.fakes import FakeLab

ASKED = {
    "methods": ["plain", "medusa", "prompt-lookup"],
    "own": ["quick one", "quick two"],
    "max_new_tokens": 12,
    "tree": "auto",
}


def handlers_of(pace=0.0, limits=PRIVATE, load=None) -> CompareHandlers:
    worker = ModelWorker(load or (lambda progress: FakeLab(pace=pace)), comparison)
    worker.start()
    with gr.Blocks():
        return CompareHandlers(worker, limits)


def begun(handlers, last=None, **changes):
    """The generator of a run, as Gradio would make it from the browser's request."""
    return handlers.run(last, SimpleNamespace(_data=ASKED | changes))


def messages(handlers, sent) -> list[dict]:
    return [json.loads(update[handlers.page.compare]) for update in sent]
