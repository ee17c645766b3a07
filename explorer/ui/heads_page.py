"""The Heads page: a checkup of the heads that are loaded, or of a recorded one."""

from __future__ import annotations

from dataclasses import dataclass

import gradio as gr

from explorer.ui import panels
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
    examine: gr.Button
    recorded: gr.Button
    status: gr.HTML
    report: gr.HTML
    ledger: gr.Plot
    accuracy: gr.Plot
    confidence: gr.Plot

    @property
    def shown(self) -> list[gr.components.Component]:
        """What a checkup fills."""
        return [self.status, self.report, self.ledger, self.accuracy, self.confidence]


def build_heads_page() -> HeadsPage:
    """Lay out the page inside the current gr.Blocks."""
    loading = gr.Timer(0.5)
    header = plain_html(panels.header("loading …", [], "Heads"), "mx-header-block")
    plain_html(f"<p>{HELP}</p>", "hd-help")
    with gr.Row(elem_id="hd-buttons"):
        examine = gr.Button("Examine these heads", variant="primary", elem_id="hd-examine")
        recorded = gr.Button("Show the recorded checkup", elem_id="hd-recorded")
    status = plain_html("", "hd-status")
    report = plain_html("", "hd-report")
    ledger = gr.Plot(show_label=False, elem_id="hd-ledger")
    with gr.Row():
        with gr.Column(min_width=320):
            accuracy = gr.Plot(show_label=False, elem_id="hd-accuracy")
        with gr.Column(min_width=320):
            confidence = gr.Plot(show_label=False, elem_id="hd-confidence")
    return HeadsPage(
        loading, header, examine, recorded, status, report, ledger, accuracy, confidence
    )
