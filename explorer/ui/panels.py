"""The small panels of the page as HTML. Whatever comes from outside is escaped here."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from explorer.analysis.speedup import RaceFigures
from explorer.figures import numbers
from explorer.figures.view import StepView
from explorer.tracing.schema import TopTokens
from explorer.tracing.text import encodable
from explorer.ui.verdicts import node_title, sentences, step_sentence

PARTS = ("heads", "draft", "verify", "accept", "commit")
SLOWER, FASTER = 0.995, 1.005  # between them, two digits would show 1.00


def header(description: str, notes: Sequence[str]) -> str:
    """Name of the app, what runs, and calm notes about it."""
    lines = "".join(f"<li>{escape(note)}</li>" for note in notes)
    more = (
        f'<details class="mx-notes"><summary>about this model</summary><ul>{lines}</ul></details>'
    )
    model = f"<span>{escape(description)}</span>{more if notes else ''}"
    return (
        '<div class="mx-header"><h1>Medusa Explorer</h1>'
        '<p class="mx-tagline">See speculative decoding happen, step by step</p>'
        f'<div class="mx-model">{model}</div></div>'
    )


def status(kind: str, text: str, fraction: float | None = None) -> str:
    """One line about what goes on. kind: empty, loading, waiting, running, done, failed."""
    bar = ""
    if kind == "loading":
        width = "" if fraction is None else f' style="width:{max(0.0, min(1.0, fraction)):.0%}"'
        moving = " mx-moving" if fraction is None else ""
        bar = f'<div class="mx-bar{moving}"><i{width}></i></div>'
    return f'<div class="mx-status mx-{kind}" role="status">{escape(encodable(text))}{bar}</div>'


def title(name: str, hint: str) -> str:
    """The title of a block, and what it shows."""
    return f'<div class="mx-title"><h2>{escape(name)}</h2><p>{escape(hint)}</p></div>'


def nothing_yet(hint: str) -> str:
    """What stands in a block that has nothing to show yet."""
    return f'<p class="mx-hint">{escape(hint)}</p>'


def lane_head(name: str, per_second: float | None, extra: str) -> str:
    """Name and speed of a lane."""
    return (
        f'<div class="mx-lane-head"><h2>{escape(name)}</h2>'
        f"<span><b>{numbers.rate(per_second)}</b> tokens/s</span><span>{escape(extra)}</span></div>"
    )


def speedup(figures: RaceFigures | None, tokens: int, steps: int, plain_tokens: int) -> str:
    """The large figure: how much faster (or slower) Medusa is, and how sure that is."""
    if figures is None or figures.speedup is None:
        return _speedup_html(
            "mx-none", numbers.NONE, "", "speedup over plain decoding", "nothing measured yet"
        )
    value = figures.speedup
    kind, words = _judged(value, None if figures.estimate else figures.spread)
    spread = "" if figures.spread is None else f"± {numbers.ratio(figures.spread)}"
    how = f"measured, {numbers.plural(tokens, 'token')}, {numbers.plural(steps, 'step')}"
    if figures.estimate:  # words, not a spread, say how little it is worth yet
        spread = ""
        how = f"estimate: only {numbers.plural(plain_tokens, 'plain token')} so far"
    return _speedup_html(kind, f"{numbers.ratio(value)}×", spread, words, how)


def _judged(value: float, spread: float | None) -> tuple[str, str]:
    """The style and the words for a speedup; a gain within its spread is no gain to boast of."""
    if SLOWER <= value <= FASTER:
        return "mx-even", "as fast as plain decoding"
    unsure = spread is not None and abs(value - 1) < spread
    doubt = ", but within the spread" if unsure else ""
    if value < SLOWER:
        return "mx-slow", f"slower than plain decoding{doubt}"
    return "mx-even" if unsure else "", f"faster than plain decoding{doubt}"


def _speedup_html(kind: str, figure: str, spread: str, words: str, how: str) -> str:
    return (
        f'<div class="mx-speedup {kind}"><div><strong>{figure}</strong><em>{spread}</em></div>'
        f"<p>{words}</p><p>{how}</p></div>"
    )


def step_title(view: StepView, total: int) -> str:
    """`step 17 of 50`, and what the step did."""
    number = f"Step {numbers.count(view.step.index + 1)} of {numbers.count(total)}"
    return f'<div class="mx-step-title"><h2>{number}</h2><p>{step_sentence(view)}</p></div>'


def cost(view: StepView) -> str:
    """Where the step's time went, against a plain step, and from when on the step pays."""
    timings = view.step.timings
    longest = max(timings.step, view.plain_ms or 0.0) or 1.0
    parts = [(name, getattr(timings, name)) for name in PARTS]
    bars = _bar("this step", parts, timings.step, longest)
    if view.plain_ms is None:
        return f'<div class="mx-cost">{bars}{_listed(parts)}</div>'
    bars += _bar("plain step", [("plain", view.plain_ms)], view.plain_ms, longest)
    pays = ""
    if view.plain_ms > 0:
        gained = len(view.step.emitted)
        needed = timings.step / view.plain_ms
        pays = (
            f"<p>Cost as much as {needed:.2f} plain steps and gained "
            f"{numbers.plural(gained, 'token')}.</p>"
        )
    return f'<div class="mx-cost">{bars}{_listed(parts)}{pays}</div>'


def no_cost() -> str:
    """The frame of `cost` before there is a step."""
    bars = _bar("this step", [], None, 1.0) + _bar("plain step", [], None, 1.0)
    return f'<div class="mx-cost">{bars}</div>'


def _bar(name: str, parts: Sequence[tuple[str, float]], total: float | None, longest: float) -> str:
    pieces = "".join(
        f'<i class="mx-part-{part}" style="width:{100 * value / longest:.2f}%"></i>'
        for part, value in parts
    )
    return (
        f'<div class="mx-cost-row"><span>{name}</span><div>{pieces}</div>'
        f"<b>{numbers.milliseconds(total)} ms</b></div>"
    )


def _listed(parts: Sequence[tuple[str, float]]) -> str:
    cells = "".join(
        f'<span><i class="mx-part-{name}"></i>{name} {numbers.milliseconds(value)}</span>'
        for name, value in parts
    )
    return f'<div class="mx-cost-parts">{cells}<span>ms</span></div>'


def node(view: StepView, row: int) -> str:
    """The verdict on a node in words, with what the base model and the head thought."""
    told = "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences(view, row))
    lists = _top_lists(view, row) if row else ""
    return (
        f'<div class="mx-node mx-verdict-{view.step.verdicts[row]}">'
        f"<h3>{escape(node_title(view, row))}</h3>{told}{lists}</div>"
    )


def _top_lists(view: StepView, row: int) -> str:
    parent, depth = view.parents[row], view.depths[row]
    held = view.step.token_ids[row]
    base = view.step.base_top[parent] if parent < len(view.step.base_top) else None
    head = view.heads[depth - 1] if depth <= len(view.heads) else None
    return (
        '<div class="mx-tops">'
        f"{_top_list('base model, top 5', base, held, view)}"
        f"{_top_list(f'head {depth}, top 5', head, held, view)}</div>"
    )


def _top_list(title: str, top: TopTokens | None, held: int, view: StepView) -> str:
    if top is None or not top.ids:
        return ""
    rows = "".join(
        f"<tr{' class=mx-held' if token == held else ''}><td>{escape(view.token(token, 14))}</td>"
        f"<td>{numbers.probability(prob)}</td></tr>"
        for token, prob in list(zip(top.ids, top.probs, strict=False))[:5]
    )
    return f"<table><caption>{escape(title)}</caption>{rows}</table>"


def empty_step() -> str:
    """What stands in the step view before there is a step."""
    return '<div class="mx-step-title"><h2>No steps yet</h2><p>Run a prompt to see them.</p></div>'


def legend() -> str:
    """How the text is marked: by underline as well as by colour."""
    entries = [("d0", "root or bonus"), ("d1", "accepted at depth 1"), ("d2", "2"), ("d3", "3")]
    marks = "".join(f'<span class="{name}">{words}</span>' for name, words in entries)
    return (
        f'<div class="mx-legend"><span class="mx-legend-title">tokens:</span>{marks}'
        '<span class="d4">4 and deeper</span><span class="now">the step shown below</span></div>'
    )
