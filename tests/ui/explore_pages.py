"""An Explore page over scripted runs, and what it sends."""

from __future__ import annotations

import json

import gradio as gr

from explorer.records.methods import parameters
from explorer.ui.handlers import Handlers
from explorer.ui.limits import PRIVATE
from explorer.ui.settings import SettingsInputs
from explorer.ui.worker import ModelWorker
from tests.ui.fakes import FakeLab

DEFAULTS = {
    "method": "medusa",
    "against": "plain",
    "tree": "auto",
    "acceptance": "auto",
    "temperature": 0,
    "top_p": 1,
    "top_k": 0,
    "epsilon": 0.09,
    "delta": 0.3,
    "root_rule": "draw",
    "seed": 0,
    "max_new_tokens": 40,
    "system_prompt": "",
    "raw_prompt": False,
}


def handlers_of(lab=None, limits=PRIVATE, load=None) -> Handlers:
    worker = ModelWorker(load or (lambda progress: lab or FakeLab()))
    worker.start()
    with gr.Blocks():
        return Handlers(worker, limits)


def values(**changes: object) -> list[object]:
    own = {name: parameter.default for name, parameter in parameters().items()}
    given = DEFAULTS | own | changes
    return [given[name] for name in SettingsInputs.names()]


def finished(handlers: Handlers, prompt: str = "hi", **changes: object):
    """Run to the end; the session and everything that was sent."""
    sent = list(handlers.run(None, prompt, *values(**changes)))
    return sent[0][handlers.page.session], sent


def messages(handlers: Handlers, sent) -> list[dict]:
    explorer = handlers.page.explorer
    return [json.loads(update[explorer]) for update in sent if explorer in update]
