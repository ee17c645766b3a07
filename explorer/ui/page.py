"""The Explore page: its components and their layout. Their handlers are in `handlers`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gradio as gr

from explorer.records.paths import ASSETS
from explorer.ui import panels
from explorer.ui.examples import EXAMPLES
from explorer.ui.limits import Limits
from explorer.ui.parts import plain_html
from explorer.ui.session import Session, stop_session
from explorer.ui.settings import SettingsInputs, settings_inputs
from explorer.ui.step_explorer import step_explorer

NOTHING_YET = "There is nothing to continue yet: press Run first."


@dataclass(frozen=True)
class Page:
    """All components that handlers read or write."""

    session: gr.State
    loading: gr.Timer
    header: gr.HTML
    prompt: gr.Textbox
    run: gr.Button
    stop: gr.Button
    go_on: gr.Button
    why_not: gr.HTML
    settings: SettingsInputs
    settings_button: gr.Button
    settings_panel: gr.Column
    settings_open: gr.State
    status: gr.HTML
    explorer: gr.HTML

    def buttons(self) -> list[gr.components.Component]:
        """The components that change when a run begins or ends."""
        return [self.run, self.stop, self.go_on, self.why_not]


def build_page(
    limits: Limits,
    missed: Callable[[str, int], str],
    attention: Callable[[str], str],
    runs: bool = True,
) -> Page:
    """Lay out the page inside the current gr.Blocks. `missed`, `attention`: see step_explorer.

    `runs` False: recorded runs only, without the buttons that could not work.
    """
    parts: dict[str, Any] = {
        "session": gr.State(Session(), delete_callback=stop_session),
        "loading": gr.Timer(0.5),
        "header": plain_html(panels.header("loading …", []), "mx-header-block"),
    }
    gr.HTML(
        panels.intro(),
        js_on_load=(ASSETS / "ui" / "intro.js").read_text(encoding="utf-8"),
        apply_default_css=False,
        elem_id="mx-intro-block",
    )
    parts |= _prompt_row(runs)
    parts |= _toolbar(runs)
    with (
        gr.Column(elem_id="mx-settings-place"),
        gr.Column(visible=False, elem_id="mx-settings") as settings_panel,
    ):
        parts |= {"settings": settings_inputs(limits), "settings_panel": settings_panel}
    parts["explorer"] = step_explorer(
        missed, attention, elem_id="mx-explorer", able="run" if runs else ""
    )
    return Page(**parts)


def _prompt_row(runs: bool) -> dict[str, object]:
    with gr.Row(elem_id="mx-ask", equal_height=True, visible=runs):
        prompt = gr.Textbox(
            EXAMPLES[0].prompt,
            label="Prompt",
            show_label=False,
            container=False,
            lines=1,
            max_lines=5,
            scale=6,
            elem_id="mx-prompt",
            placeholder="Ask for something, or pick an example",
        )
        with gr.Row(elem_id="mx-buttons"):
            run = gr.Button("Run", variant="primary", elem_id="mx-run")
            stop = gr.Button("Stop", elem_id="mx-stop", interactive=False)
            go_on = gr.Button("Continue", elem_id="mx-continue", interactive=False)
            why_not = _title_of_continue()
    return {"prompt": prompt, "run": run, "stop": stop, "go_on": go_on, "why_not": why_not}


def _title_of_continue() -> gr.HTML:
    """Its value becomes the title of the button: a Gradio button cannot have one."""
    return gr.HTML(
        NOTHING_YET,
        html_template="",
        js_on_load=(ASSETS / "ui" / "continue.js").read_text(encoding="utf-8"),
        apply_default_css=False,
        elem_id="mx-why-not",
    )


def _toolbar(runs: bool) -> dict[str, object]:
    with gr.Row(elem_id="mx-toolbar"):
        settings = gr.Button(
            "Settings", size="sm", min_width=40, elem_id="mx-settings-button", visible=runs
        )
        status = plain_html(panels.status("loading", "Starting"), "mx-status-block")
    return {
        "settings_button": settings,
        "settings_open": gr.State(False),
        "status": status,
    }
