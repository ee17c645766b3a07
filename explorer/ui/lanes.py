"""The text of both lanes as HTML: every character escaped, every token marked by its origin."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from explorer.figures.view import Run
from explorer.tracing.summary import Origin, origins
from explorer.tracing.text import readable, spans

DEEPEST_STYLE = 4  # depths from here on look the same


def medusa_lane(run: Run, selected: int | None = None) -> str:
    """The speculative lane: a span per token, its class the depth at which it was accepted.

    The tokens of the `selected` step (0-based) are framed.
    """
    token_ids = [token for step in run.steps for token in step.emitted]
    return _lane(run, token_ids, origins(run.steps), selected)


def plain_lane(run: Run) -> str:
    """The plain lane: text without marks."""
    token_ids = [token.token_id for token in run.plain]
    return _lane(run, token_ids, None, None)


def lane_text(run: Run, token_ids: Sequence[int]) -> str:
    """The text a lane shows, without the end mark: what the page must agree with."""
    shown = _without_end(run, token_ids)
    return "".join(readable(span.text) for span in spans(run.pieces, shown))


def _lane(
    run: Run, token_ids: Sequence[int], came: Sequence[Origin] | None, selected: int | None
) -> str:
    shown = _without_end(run, token_ids)
    parts = []
    for span in spans(run.pieces, shown):
        text = escape(readable(span.text))
        if came is None:
            parts.append(text)
            continue
        origin = came[span.first + span.count - 1]
        parts.append(f'<span class="{_classes(origin, selected)}">{text}</span>')
    if len(shown) < len(token_ids):
        parts.append('<span class="mx-end" title="end of sequence">end</span>')
    return f'<div class="mx-text" dir="auto">{"".join(parts)}</div>'


def _classes(origin: Origin, selected: int | None) -> str:
    depth = f"d{min(origin.depth, DEEPEST_STYLE)}"
    return f"{depth} now" if origin.step == selected else depth


def _without_end(run: Run, token_ids: Sequence[int]) -> Sequence[int]:
    """The tokens before a closing end-of-sequence token."""
    ends = run.header.eos_ids if run.header else ()
    return token_ids[:-1] if token_ids and token_ids[-1] in ends else token_ids
