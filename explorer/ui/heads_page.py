"""The Heads page: a checkup of the heads that are loaded, or of a recorded one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from explorer.ui import panels
from explorer.ui.limits import Limits
from explorer.ui.parts import plain_html

HELP = (
    "The doctor races the heads against plain decoding on a few prompts and says where the speedup "
    "goes. The same as 'python -m explorer doctor', which also writes a page for a bug report."
)


@dataclass(frozen=True)
class HeadsPage:
    """All components that handlers read or write."""

    loading: gr.Timer
    header: gr.HTML
    heads: gr.Textbox
    prompts: gr.Textbox
    examine: gr.Button
    recorded: gr.Button
    status: gr.HTML
    report: gr.HTML
    ledger: gr.Plot
    accuracy: gr.Plot
    confidence: gr.Plot
    kinds: gr.Plot
    wrong: gr.HTML

    @property
    def asked(self) -> list[gr.components.Component]:
        """What to examine, and on which prompts."""
        return [self.heads, self.prompts]

    @property
    def shown(self) -> list[gr.components.Component]:
        """What a checkup fills."""
        plots = [self.ledger, self.accuracy, self.confidence, self.kinds]
        return [self.status, self.report, *plots, self.wrong]


def build_heads_page(limits: Limits) -> HeadsPage:
    """Lay out the page inside the current gr.Blocks."""
    parts: dict[str, Any] = {
        "loading": gr.Timer(0.5),
        "header": plain_html(panels.header("loading …", [], "Heads"), "mx-header-block"),
    }
    plain_html(f"<p>{HELP}</p>", "hd-help")
    with gr.Row(elem_id="hd-asked"):
        parts |= _inputs(limits)
    with gr.Row(elem_id="hd-buttons"):
        parts["examine"] = gr.Button("Examine", variant="primary", elem_id="hd-examine")
        parts["recorded"] = gr.Button("Show the recorded checkup", elem_id="hd-recorded")
    parts["status"] = plain_html("", "hd-status")
    parts["report"] = plain_html("", "hd-report")
    parts["ledger"] = gr.Plot(show_label=False, elem_id="hd-ledger")
    with gr.Row():
        for name in ("accuracy", "confidence"):
            with gr.Column(min_width=320):
                parts[name] = gr.Plot(show_label=False, elem_id=f"hd-{name}")
    with gr.Row():
        with gr.Column(min_width=320):
            parts["kinds"] = gr.Plot(show_label=False, elem_id="hd-kinds")
        with gr.Column(min_width=320):
            parts["wrong"] = plain_html("", "hd-wrong")
    return HeadsPage(**parts)


def _inputs(limits: Limits) -> dict[str, gr.Textbox]:
    return {
        "heads": gr.Textbox(
            label="Heads: a folder here, or a Hub id",
            placeholder="those that are loaded",
            max_length=300,
            visible=limits.opens_paths,
            elem_id="hd-heads",
        ),
        "prompts": gr.Textbox(
            label="Own prompts, one a line",
            placeholder="the built-in ones",
            lines=1,
            max_lines=6,
            max_length=limits.prompt_characters,
            elem_id="hd-prompts",
        ),
    }
