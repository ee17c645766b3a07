"""The Serve page: its components and where they stand. What they do is in `serving_handlers`."""

from __future__ import annotations

from dataclasses import dataclass

import gradio as gr

from explorer.records.paths import ASSETS
from explorer.serving.address import EXAMPLE
from explorer.serving.load import MAX_AT_ONCE, MAX_REQUESTS
from explorer.ui import panels, serving_panels
from explorer.ui.parts import plain_html
from explorer.ui.serving_session import ServingSession

PROMPT, LOAD, SWEEP = "one prompt", "load", "load at 1, 2, 4, 8 and 16"
KINDS = (PROMPT, LOAD, SWEEP)
DEFAULT_PROMPT = "Explain what a binary search is, with a Python example."
MAX_TOKENS = 1024


@dataclass(frozen=True)
class Inputs:
    """What a person sets; None of it stands on a public page."""

    address: gr.Textbox
    baseline: gr.Textbox
    check: gr.Button
    prompt: gr.Textbox
    kind: gr.Radio
    concurrency: gr.Slider
    requests: gr.Slider
    tokens: gr.Slider
    run: gr.Button
    cancel: gr.Button
    keep: gr.Button
    here: gr.Button

    def asked(self) -> list[gr.components.Component]:
        """What a run reads, in the order in which its handler takes it."""
        return [
            self.address, self.baseline, self.prompt, self.kind, self.concurrency, self.requests,
            self.tokens,
        ]  # fmt: skip


@dataclass(frozen=True)
class ServingPage:
    """All components that handlers read or write. `inputs` is None on a public page."""

    session: gr.State
    loading: gr.Timer
    header: gr.HTML
    inputs: Inputs | None
    status: gr.HTML
    figures: gr.HTML
    acceptance: gr.Plot
    gain: gr.Plot
    latency: gr.Plot
    request: gr.Dropdown
    steps: gr.HTML
    rows: gr.HTML

    def results(self) -> list[gr.components.Component]:
        """What shows a measurement."""
        return [
            self.figures, self.acceptance, self.gain, self.latency, self.request, self.steps,
            self.rows,
        ]  # fmt: skip


def build_serving_page(public: bool) -> ServingPage:
    """Lay out the page inside the current gr.Blocks. `public`: nothing can be asked."""
    session = gr.State(ServingSession(), delete_callback=ServingSession.stop)
    loading = gr.Timer(0.5)
    header = plain_html(panels.header("loading …", [], "Serve"), "mx-header-block")
    plain_html(serving_panels.introduction(public), "mx-serve-about")
    inputs = None if public else _inputs()
    status = plain_html(
        panels.status("empty", serving_panels.PUBLIC if public else serving_panels.REST),
        "mx-serve-status",
    )
    figures = plain_html("", "mx-serve-figures")
    with gr.Row(elem_id="mx-serve-charts"):
        gain, acceptance, latency = (
            gr.Plot(label=label, elem_id=f"mx-serve-{name}", show_label=True)
            for name, label in (
                ("gain", "What speculation gains under load"),
                ("acceptance", "How far drafts were accepted"),
                ("latency", "Time per token, half and nine tenths of the requests"),
            )
        )
    with gr.Column(elem_id="mx-serve-request"):
        request = gr.Dropdown([], label="Request whose steps are shown", interactive=True)
        steps = gr.HTML(
            value="",
            html_template='<div class="vx-here"></div>',
            js_on_load=(ASSETS / "serving" / "gradio.js").read_text(encoding="utf-8"),
            apply_default_css=False,
            elem_id="mx-serve-steps",
        )
    return ServingPage(
        session=session,
        loading=loading,
        header=header,
        inputs=inputs,
        status=status,
        figures=figures,
        acceptance=acceptance,
        gain=gain,
        latency=latency,
        request=request,
        steps=steps,
        rows=plain_html("", "mx-serve-rows"),
    )


def _inputs() -> Inputs:
    with gr.Column(elem_id="mx-serve-form"):
        with gr.Row():
            address = gr.Textbox(
                label="Server", placeholder=EXAMPLE, info="an OpenAI-compatible server", scale=3
            )
            baseline = gr.Textbox(
                label="Baseline server (may be left out)",
                placeholder="http://127.0.0.1:8001",
                info="the same model without speculation",
                scale=3,
            )
            check = gr.Button("Check connection", scale=1, min_width=140)
        with gr.Row():
            prompt = gr.Textbox(
                DEFAULT_PROMPT, label="Prompt", info="of one request; a load has the built-in ones",
                lines=1, max_lines=4, scale=3,
            )  # fmt: skip
            kind = gr.Radio(list(KINDS), value=PROMPT, label="Ask", scale=3)
        with gr.Row():
            concurrency = gr.Slider(
                1, MAX_AT_ONCE, 4, step=1, label="Requests at a time", info="of a load"
            )
            requests = gr.Slider(
                1, MAX_REQUESTS, 16, step=1, label="Requests in all", info="of a load"
            )
            tokens = gr.Slider(1, MAX_TOKENS, 64, step=1, label="New tokens", info="at most")
        with gr.Row(elem_id="mx-serve-buttons"):
            run = gr.Button("Run", variant="primary")
            cancel = gr.Button("Cancel", interactive=False)
            keep = gr.Button("Keep as baseline", interactive=False)
            here = gr.Button("Run it here too", interactive=False)
    return Inputs(
        address, baseline, check, prompt, kind, concurrency, requests, tokens, run, cancel, keep,
        here,
    )  # fmt: skip
