"""A summary of a trace as HTML for a notebook: the run, its speed, and the source of each token.

Everything that a person or a model wrote is escaped; there are no scripts, links or images.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import islice

from explorer.analysis.speedup import Samples, lane_figures, race_figures
from explorer.figures.palette import ACCEPTED, MONO, NEUTRAL, ROOT
from explorer.figures.speed import lane_words, speedup_words
from explorer.records.numbers import plural, probability
from explorer.records.piece import ELLIPSIS
from explorer.records.schema import Trace
from explorer.records.step import Step
from explorer.records.text import readable, spans

MAX_TOKENS = 1000
MAX_PROMPT = 400  # characters
MAX_PIECE = 2000  # characters of one token
DEEPEST_TINT = 4
# Notebooks would read TeX between $ signs.
BOX = '<div class="tex2jax_ignore mathjax_ignore" style="max-width:60em;line-height:1.6">{}</div>'
TEXT_STYLE = (
    f"margin:.5em 0;padding:.5em .8em;border:1px solid {NEUTRAL.format(0.4)};border-radius:6px;"
    f"max-height:24em;overflow:auto;white-space:pre-wrap;overflow-wrap:anywhere;"
    f"unicode-bidi:plaintext;font-family:{escape(MONO)}"
)


def trace_card(trace: Trace) -> str:
    """The summary and the coloured text of a run."""
    lines = [_who(trace), _prompt(trace.header.prompt), _speed(trace)]
    if (race := _race(trace)) is not None:
        lines.append(race)
    parts = [f"<div>{line}</div>" for line in lines]
    return BOX.format("".join([*parts, _text(trace), _legend(trace)]))


def _who(trace: Trace) -> str:
    header = trace.header
    named = [header.model, header.tuned, header.backend, header.device, header.settings.acceptance]
    rest = " · ".join(_isolated(name) for name in named if name)
    return f"<b>{_isolated(header.settings.method)}</b> · {rest}"


def _prompt(prompt: str) -> str:
    return f"Prompt: {_isolated(prompt, MAX_PROMPT)}"


def _speed(trace: Trace) -> str:
    lane = lane_figures(Samples.of_lane(trace))
    done = f"{plural(lane.tokens, 'token')} in {plural(lane.steps, 'step')}"
    return f"{done}: {lane_words(lane)}"


def _race(trace: Trace) -> str | None:
    figures = race_figures(trace)
    if trace.rival is None or figures.speedup is None:
        return None
    rival = f"{_isolated(trace.rival.header.settings.method)}: {lane_words(figures.rival)}"
    same = _same(trace.new_token_ids, trace.rival.new_token_ids)
    return f"{rival}. Speedup <b>{speedup_words(figures)}</b>. {same}"


def _same(ours: list[int], theirs: list[int]) -> str:
    both = min(len(ours), len(theirs))
    if ours[:both] == theirs[:both]:
        as_far = "" if len(ours) == len(theirs) else ", as far as both went"
        return f"Both lanes wrote the same tokens{as_far}."
    parted = next(i for i in range(both) if ours[i] != theirs[i])
    return f"The lanes' texts part at token {parted + 1}."


def _text(trace: Trace) -> str:
    shown = list(islice(_tokens(trace), MAX_TOKENS))
    marked = "".join(
        _token(span.text, *shown[span.first][1:])
        for span in spans(trace.pieces, [token for token, _, _ in shown])
    )
    more = sum(len(step.emitted) for step in trace.steps) - MAX_TOKENS
    if more > 0:
        marked += f"{ELLIPSIS} and {plural(more, 'token')} more"
    return f'<div dir="auto" style="{TEXT_STYLE}">{marked}</div>'


def _tokens(trace: Trace) -> Iterator[tuple[int, Step, int]]:
    """Token, its step and its depth, in the order of the text; not the end-of-sequence token."""
    ends = set(trace.header.eos_ids)
    for step in trace.steps:
        for depth, token in enumerate(step.emitted):
            if token not in ends:
                yield token, step, depth


def _token(text: str, step: Step, depth: int) -> str:
    prob = ""
    if depth < len(step.accepted):
        prob = f", base model {probability(step.base_probs[step.accepted[depth]])}"
    title = f"step {step.index}, {_origin(depth)}{prob}"
    return f'<span title="{escape(title)}" style="{_tint(depth)}">{_safe(text, MAX_PIECE)}</span>'


def _origin(depth: int) -> str:
    return f"drafted at depth {depth}" if depth else "root"


def _tint(depth: int) -> str:
    """Root: a dotted line. Drafts: a solid one, on a background that darkens with the depth."""
    if not depth:
        return f"unicode-bidi:isolate;border-bottom:2px dotted {ROOT}"
    alpha = round(255 * (0.08 + 0.09 * min(depth, DEEPEST_TINT)))
    return (
        f"unicode-bidi:isolate;border-bottom:2px solid {ACCEPTED};background:{ACCEPTED}{alpha:02x}"
    )


def _legend(trace: Trace) -> str:
    deepest = max((len(step.emitted) for step in trace.steps), default=1) - 1
    depths = range(1, min(deepest, DEEPEST_TINT) + 1)
    names = ["root", *(f"depth {d}" for d in depths)]
    if deepest > DEEPEST_TINT:
        names[-1] += " and deeper"
    marks = [f'<span style="{_tint(i)}">{name}</span>' for i, name in enumerate(names)]
    return f'<div style="font-size:85%">{" ".join(marks)}</div>'


def _isolated(text: str, limit: int = 200) -> str:
    """A user's text, isolated so that it cannot reorder the text around it."""
    return f"<bdi>{_safe(text, limit)}</bdi>"


def _safe(text: str, limit: int) -> str:
    cut = text if len(text) <= limit else text[:limit] + ELLIPSIS
    return escape(readable(cut))
