"""The Explore page: its components and where they stand. What they do is in `handlers`."""

from __future__ import annotations

from dataclasses import dataclass

import gradio as gr
import plotly.graph_objects as go

from explorer.figures import lengths_figure, race_figure
from explorer.ui import panels
from explorer.ui.examples import EXAMPLES
from explorer.ui.limits import Limits
from explorer.ui.session import stop_session
from explorer.ui.settings import SettingsInputs, settings_inputs
from explorer.ui.theme import ASSETS

TREE_HINT = "root at the left, the best guesses on top"
MASK_HINT = "which rows each row may see"
WHY_HINT = "the verdict on a node"
MEDUSA_HINT = "Medusa heads draft several tokens, the base model verifies them in one pass."
PLAIN_HINT = "The same model alone: one token per pass."
NODE_HINT = "Choose a node to read why it was accepted, rejected or never reached."


@dataclass(frozen=True)
class Page:
    """All components that handlers read or write."""

    session: gr.State
    loading: gr.Timer
    header: gr.HTML
    prompt: gr.Textbox
    run: gr.Button
    stop: gr.Button
    examples: list[gr.Button]
    settings: SettingsInputs
    settings_button: gr.Button
    settings_panel: gr.Column
    settings_open: gr.State
    status: gr.HTML
    medusa_head: gr.HTML
    medusa_text: gr.HTML
    plain_head: gr.HTML
    plain_text: gr.HTML
    speedup: gr.HTML
    race: gr.Plot
    save: gr.DownloadButton
    step_title: gr.HTML
    lengths: gr.Plot
    previous: gr.Button
    slider: gr.Slider
    following: gr.Button
    follow: gr.Checkbox
    cost: gr.HTML
    tree: gr.Plot
    mask: gr.Plot
    node_choice: gr.Dropdown
    node: gr.HTML


def build_page(limits: Limits) -> Page:
    """Lay out the page inside the current gr.Blocks."""
    parts: dict[str, object] = {
        "session": gr.State(None, delete_callback=stop_session),
        "loading": gr.Timer(0.5),
        "header": _html(panels.header("loading …", []), "mx-header-block"),
    }
    parts |= _prompt_row()
    parts |= _toolbar()
    with gr.Column(visible=False, elem_id="mx-settings") as settings_panel:
        parts |= {"settings": settings_inputs(limits), "settings_panel": settings_panel}
    parts |= _race()
    parts |= _step_view()
    return Page(**parts)


def _html(value: str, name: str, **more: object) -> gr.HTML:
    return gr.HTML(value, elem_id=name, apply_default_css=False, js_on_load=None, **more)


def _prompt_row() -> dict[str, object]:
    with gr.Row(elem_id="mx-ask", equal_height=True):
        prompt = gr.Textbox(
            EXAMPLES[2].prompt,
            label="Prompt",
            show_label=False,
            container=False,
            lines=2,
            max_lines=5,
            scale=6,
            elem_id="mx-prompt",
            placeholder="Ask for something, or pick an example",
        )
        with gr.Column(scale=1, min_width=150, elem_id="mx-buttons"):
            run = gr.Button("Run", variant="primary", elem_id="mx-run")
            stop = gr.Button("Stop", elem_id="mx-stop", interactive=False)
    return {"prompt": prompt, "run": run, "stop": stop}


def _toolbar() -> dict[str, object]:
    with gr.Row(elem_id="mx-toolbar"):
        with gr.Row(elem_id="mx-examples"):
            examples = [
                gr.Button(example.name, size="sm", min_width=40, elem_classes="mx-quiet")
                for example in EXAMPLES
            ]
            settings = gr.Button("Settings", size="sm", min_width=40, elem_id="mx-settings-button")
        status = _html(panels.status("loading", "Starting"), "mx-status-block")
        save = gr.DownloadButton(
            "Save trace", size="sm", interactive=False, elem_id="mx-save", min_width=90
        )
    return {
        "examples": examples,
        "settings_button": settings,
        "settings_open": gr.State(False),
        "status": status,
        "save": save,
    }


def _race() -> dict[str, object]:
    with gr.Row(elem_id="mx-race-row"):
        with gr.Column(scale=3, min_width=320, elem_id="mx-lanes"):
            medusa_head = _html(panels.lane_head("Medusa", None, ""), "mx-medusa-head")
            medusa_text = gr.HTML(
                panels.nothing_yet(MEDUSA_HINT),
                elem_id="mx-medusa-text",
                apply_default_css=False,
                max_height=112,
                js_on_load=(ASSETS / "lane.js").read_text(),
            )
            plain_head = _html(panels.lane_head("Plain", None, ""), "mx-plain-head")
            plain_text = _html(
                panels.nothing_yet(PLAIN_HINT), "mx-plain-text", autoscroll=True, max_height=78
            )
            _html(panels.legend(), "mx-legend-block")
        with gr.Column(scale=2, min_width=320, elem_id="mx-figures"):
            with gr.Row(elem_id="mx-speed"):
                speedup = _html(panels.speedup(None, 0, 0, 0), "mx-speedup-block")
                race = _plot("mx-race", race_figure([], []))
            cost = _html(panels.no_cost(), "mx-cost")
    return {
        "medusa_head": medusa_head,
        "medusa_text": medusa_text,
        "plain_head": plain_head,
        "plain_text": plain_text,
        "speedup": speedup,
        "race": race,
        "cost": cost,
    }


def _step_view() -> dict[str, object]:
    with gr.Row(elem_id="mx-step-row", equal_height=True):
        step_title = _html(panels.empty_step(), "mx-step-title")
        with gr.Row(elem_id="mx-step-controls"):
            previous = gr.Button("◂ previous", size="sm", min_width=84, elem_id="mx-previous")
            slider = gr.Slider(
                1,
                2,
                value=1,
                step=1,
                label="Step",
                show_label=False,
                container=False,
                buttons=[],
                elem_id="mx-slider",
            )
            following = gr.Button("next ▸", size="sm", min_width=84, elem_id="mx-next")
            follow = gr.Checkbox(
                True, label="follow live", container=False, elem_id="mx-follow", min_width=110
            )
    lengths = _plot("mx-lengths", lengths_figure([]))
    with gr.Row(elem_id="mx-pictures"):
        with gr.Column(scale=5, min_width=320, elem_classes="mx-card"):
            _html(panels.title("Candidate tree", TREE_HINT), "mx-tree-title")
            tree = _plot("mx-tree")
        with gr.Column(scale=4, min_width=300, elem_classes="mx-card"):
            _html(panels.title("Tree-attention mask", MASK_HINT), "mx-mask-title")
            mask = _plot("mx-mask")
        with gr.Column(scale=3, min_width=280, elem_classes="mx-card", elem_id="mx-why"):
            _html(panels.title("Why?", WHY_HINT), "mx-why-title")
            node_choice = gr.Dropdown(
                [], label="Node", show_label=False, container=False, elem_id="mx-node-choice"
            )
            node = _html(panels.nothing_yet(NODE_HINT), "mx-node")
    return {
        "step_title": step_title,
        "lengths": lengths,
        "previous": previous,
        "slider": slider,
        "following": following,
        "follow": follow,
        "tree": tree,
        "mask": mask,
        "node_choice": node_choice,
        "node": node,
    }


def _plot(name: str, figure: go.Figure | None = None) -> gr.Plot:
    return gr.Plot(figure, show_label=False, container=False, elem_id=name, elem_classes="mx-plot")
