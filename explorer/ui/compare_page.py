"""The Compare page: its components. Its JavaScript is in assets/compare."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import gradio as gr

from explorer.records.methods import shown_methods
from explorer.records.paths import ASSETS
from explorer.records.settings import setting_words
from explorer.ui import panels
from explorer.ui.compare_request import MAX_FILE_CHARACTERS, built_in_prompts
from explorer.ui.compare_session import CompareSession
from explorer.ui.limits import Limits
from explorer.ui.parts import plain_html
from explorer.ui.session import stop_session
from explorer.ui.step_explorer import run_and_event

DEFAULT_NEW_TOKENS = 48  # short replies, so that the default comparison ends soon


@dataclass(frozen=True)
class ComparePage:
    """All components that handlers read or write."""

    session: gr.State
    loading: gr.Timer
    header: gr.HTML
    compare: gr.HTML
    served: gr.HTML


def build_compare_page(
    limits: Limits, missed: Callable[[str, int], str], runs: bool = True
) -> ComparePage:
    """Lay out the page inside the current gr.Blocks.

    The value of `compare` is the latest message of a CompareSession; `missed(run, first)` gives a
    comparison's message from event number `first` on, for a browser that missed some. `runs`
    False: the recorded comparison only (assets/compare/recorded.json).
    """

    def missed_events(asked: object) -> str:
        return missed(*run_and_event(asked))

    return ComparePage(
        session=gr.State(CompareSession(), delete_callback=stop_session),
        loading=gr.Timer(0.5),
        header=plain_html(panels.header("loading …", [], "Compare"), "mx-header-block"),
        compare=gr.HTML(
            value="",
            html_template='<div class="cx-here"></div>',
            js_on_load=(ASSETS / "compare" / "gradio.js").read_text(encoding="utf-8"),
            apply_default_css=False,
            server_functions=[missed_events],
            elem_id="mx-compare",
            setup=json.dumps(setup(limits) | {"runs": runs}),
        ),
        served=plain_html("", "mx-served"),
    )


def setup(limits: Limits) -> dict[str, object]:
    """The choices that the browser offers: methods, built-in prompts, trees and limits."""
    return {
        "methods": shown_methods(),
        "builtin": list(built_in_prompts()),
        "trees": list(limits.trees),
        "freeTree": limits.free_tree,
        "maxPrompts": limits.compared_prompts,
        "maxTokens": limits.compared_tokens,
        "maxCharacters": limits.prompt_characters,
        "maxFile": MAX_FILE_CHARACTERS,
        "words": setting_words("max_new_tokens", "tree"),
        "newTokens": min(DEFAULT_NEW_TOKENS, limits.compared_tokens),
    }
