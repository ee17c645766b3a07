"""A chapter's text as HTML: Markdown with numbers, formulas, glossary words and citations.

What a text may hold beside Markdown:

- `{{ number }}` and `{{ number | ratio }}`: a value of the chapter's `numbers` (Jinja2);
- `$E$`, `$$E = …$$`: a formula, typeset by tools/page_formulas.py;
- `[[hidden state]]`, `[[heads|Medusa head]]`: a word of the glossary, which explains itself;
- `[cite: medusa 2.3.1]`: a source of explorer/learn/sources.py, and a place in it;
- `## Title`: from there on, a part that a reader opens.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape

from jinja2 import Environment, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline

from explorer.learn import formats
from explorer.learn.lexicon import known_word
from explorer.learn.sources import SOURCES
from explorer.learn.typeset import FORMULA, Typeset

TERM = re.compile(r"\[\[([^\]|]+)(?:\|([^\]]+))?\]\]([.,;:!?)]*)")
CITE = re.compile(r"\[cite: ([\w-]+)((?: [^\];]+)?)\]")
_PART = re.compile(r"^## (.+)$", re.MULTILINE)


class TextError(ValueError):
    """A text names a word or a source that no table has."""


def rendered(text: str, numbers: Mapping[str, object], typeset: Typeset) -> str:
    """HTML of a text. Raises TextError, NotTypesetError, and Jinja2's UndefinedError."""
    environment = Environment(undefined=StrictUndefined, autoescape=False)
    environment.filters |= formats.FILTERS
    first, *parts = _PART.split(environment.from_string(text).render(numbers))
    markdown = _markdown(typeset)
    html = markdown.render(first)
    for title, body in zip(parts[::2], parts[1::2], strict=True):
        summary = markdown.renderInline(title)
        html += f"<details><summary>{summary}</summary>{markdown.render(body)}</details>\n"
    return html


def _markdown(typeset: Typeset) -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")

    def formula(found: re.Match[str]) -> str:
        display = found[1] == "$$"
        kind = "lx-display" if display else "lx-inline"
        return f'<span class="lx-formula {kind}">{typeset.html(found[2], display)}</span>'

    for name, pattern, html in (
        ("formula", FORMULA, formula),
        ("term", TERM, _term),
        ("cite", CITE, _cite),
    ):
        markdown.inline.ruler.before("escape", name, _rule(pattern, html))
    return markdown


def _rule(pattern, html):
    """An inline rule of markdown-it: what matches the pattern becomes HTML of our own."""

    def rule(state: StateInline, silent: bool) -> bool:
        found = pattern.match(state.src, state.pos)
        if not found:
            return False
        if not silent:
            token = state.push("html_inline", "", 0)
            token.content = html(found)
        state.pos = found.end()
        return True

    return rule


def _term(found: re.Match[str]) -> str:
    text, given, mark = found[1], found[2] or "", found[3]
    word = known_word(text, given)
    if word is None:
        raise TextError(f"the glossary has no word “{given or text}”")
    term = f'<span class="lx-term" data-word="{escape(word)}">{escape(text)}</span>'
    # What explains itself is a button, and a line may end behind one: not before a full stop.
    return f'<span class="lx-kept">{term}{mark}</span>' if mark else term


def _cite(found: re.Match[str]) -> str:
    key, place = found[1], found[2].strip()
    if key not in SOURCES:
        raise TextError(f"there is no source “{key}” in explorer/learn/sources.py")
    source = SOURCES[key]
    place = f"section {place}" if re.match(r"\d", place) else place
    named = f"{source.name}, {place}" if place else source.name
    return (
        f'<cite class="lx-cite">(<a href="{escape(source.url)}" '
        f'title="{escape(source.title_of(place))}">{escape(named)}</a>)</cite>'
    )
