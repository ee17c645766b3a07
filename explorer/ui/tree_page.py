"""The Tree lab page: its components. The script of the clickable tree is in assets/tree_lab."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from explorer.records.paths import ASSETS
from explorer.records.rank_paths import published_source, published_trees
from explorer.records.settings import MAX_TREE_CHARACTERS
from explorer.ui import panels
from explorer.ui.parts import plain_html
from explorer.ui.tree_sources import PASTED, machines, sources

BEST = "best for these texts and this machine"
CONTEXTS = (128, 512)
MOST_GREEDY = 64


@dataclass(frozen=True)
class TreePage:
    """All components that handlers read or write."""

    loading: gr.Timer
    header: gr.HTML
    source: gr.Dropdown
    machine: gr.Dropdown
    batch: gr.Dropdown
    context: gr.Dropdown
    pasted: gr.Textbox
    named: gr.Dropdown
    widths: gr.Textbox
    greedy: gr.Slider
    grow: gr.Button
    tree: gr.Textbox
    summary: gr.HTML
    picture: gr.HTML
    budget: gr.Plot
    bars: gr.Plot
    costs: gr.Plot
    buffers: gr.Code

    @property
    def asked(self) -> list[gr.components.Component]:
        """What every figure depends on."""
        return [self.source, self.machine, self.batch, self.context, self.pasted, self.tree]

    @property
    def shown(self) -> list[gr.components.Component]:
        """What changes with it."""
        return [self.summary, self.picture, self.budget, self.bars, self.costs, self.buffers]


def named_trees() -> list[str]:
    """Trees by name: the best one, chains, and the published ones."""
    return [BEST, "root", *(f"chain:{k}" for k in range(1, 5)), *published_trees()]


def build_tree_page() -> TreePage:
    """Lay out the page inside the current gr.Blocks."""
    parts: dict[str, Any] = {
        "loading": gr.Timer(0.5),
        "header": plain_html(panels.header("loading …", [], "Tree lab"), "mx-header-block"),
    }
    with gr.Row(elem_id="tl-chosen"):
        parts |= _choices()
    with gr.Accordion("Another machine: paste its file of costs", open=False):
        parts["pasted"] = gr.Textbox(
            label="What 'python -m explorer calibrate --out FILE' wrote there",
            lines=3,
            max_lines=6,
            elem_id="tl-pasted",
        )
    with gr.Row(elem_id="tl-build"):
        parts |= _builders()
    parts["summary"] = plain_html("", "tl-summary")
    with gr.Row():
        with gr.Column(min_width=320):
            parts["picture"] = gr.HTML(
                "",
                js_on_load=(ASSETS / "tree_lab" / "gradio.js").read_text(encoding="utf-8"),
                apply_default_css=False,
                elem_id="tl-picture",
            )
            parts["bars"] = gr.Plot(show_label=False, elem_id="tl-bars")
        with gr.Column(min_width=320):
            parts["budget"] = gr.Plot(show_label=False, elem_id="tl-budget")
            parts["costs"] = gr.Plot(show_label=False, elem_id="tl-costs")
    with gr.Accordion("Buffers, to compare with other code; and the tree as JSON", open=False):
        parts["buffers"] = gr.Code(language="json", label="Buffers", elem_id="tl-buffers")
    return TreePage(**parts)


def _choices() -> dict[str, object]:
    return {
        "source": gr.Dropdown(list(sources()), label="Texts", elem_id="tl-source"),
        "machine": gr.Dropdown(
            [*machines(), PASTED], label="Machine, backend", elem_id="tl-machine"
        ),
        "batch": gr.Dropdown([1, 2, 4, 8], value=1, label="Batch size", min_width=90),
        "context": gr.Dropdown(list(CONTEXTS), value=128, label="Context", min_width=90),
    }


def _builders() -> dict[str, object]:
    return {
        "named": gr.Dropdown(
            named_trees(), value=BEST, label="Shape by name", elem_id="tl-named",
            info=f"Published trees: {published_source()}",
        ),
        "widths": gr.Textbox(
            label="Widths of each depth", placeholder="3,2,1", max_length=60, elem_id="tl-widths"
        ),
        "greedy": gr.Slider(
            1, MOST_GREEDY, value=3, step=1, label="Nodes of the greedy tree",
            elem_id="tl-greedy",
        ),
        "grow": gr.Button("Grow it node by node", size="sm", min_width=120, elem_id="tl-grow"),
        "tree": gr.Textbox(
            label="Rank paths (medusa_choices); 0 is a head's first guess",
            lines=1,
            max_lines=4,
            max_length=MAX_TREE_CHARACTERS,
            buttons=["copy"],
            elem_id="tl-tree",
        ),
    }  # fmt: skip
