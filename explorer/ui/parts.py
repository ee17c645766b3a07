"""What the pages are put together from, whichever page it is."""

from __future__ import annotations

from typing import Any

import gradio as gr

# Options of an event that shows no progress of its own and is not part of the API.
QUIET: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
# The same for one that many visitors may wait for at a time.
MANY: dict[str, Any] = QUIET | {"concurrency_limit": 16}


def plain_html(value: str, name: str) -> gr.HTML:
    """HTML without a script and without Gradio's style; `name` is its id on the page."""
    return gr.HTML(value, elem_id=name, apply_default_css=False, js_on_load=None)
