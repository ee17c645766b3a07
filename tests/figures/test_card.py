"""A trace in a notebook: the figures it shows, and that hostile text stays text."""

import html
from html.parser import HTMLParser

import pytest

from explorer.analysis.speedup import race_figures
from explorer.figures import card
from explorer.figures.card import trace_card
from explorer.records.piece import Piece
from tests.trace_records import with_rival
from tests.ui.fakes import TEXT, FakeLab

EVIL = '</span></div><script>alert(1)</script><img src=x onerror="alert(1)">\'& $x$ \u202e'
ATTRIBUTES = {"class", "dir", "style", "title"}


class Page(HTMLParser):
    """Tags, attributes and text of an HTML fragment."""

    def __init__(self, source):
        super().__init__()
        self.tags, self.attributes, self.text, self.open = set(), [], "", []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes += attrs
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def trace():
    return FakeLab().trace(max_new_tokens=400)


def changed(trace, **settings):
    values = trace.header.settings.model_copy(update=settings)
    return trace.model_copy(update={"header": trace.header.model_copy(update={"settings": values})})


def test_it_shows_what_ran_and_how_fast(trace):
    page = Page(trace_card(trace))
    figures = race_figures(trace)
    ours, theirs = figures.lane, figures.rival
    assert not page.open
    for part in (
        "medusa · SmolLM2-135M · int4 · cpu · greedy",
        "Prompt: What is a binary search?",
        f"{len(trace.new_token_ids)} tokens in {len(trace.steps)} steps",
        f"{ours.tokens_per_second:.1f} tokens/s, {ours.tokens_per_step:.2f} tokens per step",
        f"plain: {theirs.tokens_per_second:.1f} tokens/s, 1.00 tokens per step",
        f"Speedup {figures.speedup:.2f}× ± {figures.half_width:.2f}, measured",
        "Both lanes wrote the same tokens.",
    ):
        assert part in page.text
    assert TEXT in page.text
    assert "<|im_end|>" not in page.text


def test_each_token_shows_where_it_came_from(trace):
    titles = [value for name, value in Page(trace_card(trace)).attributes if name == "title"]
    step = next(step for step in trace.steps if len(step.emitted) == 3)
    assert f"step {step.index}, root, base model 1" in titles
    assert any(title.startswith(f"step {step.index}, drafted at depth 2") for title in titles)


def test_lanes_that_part_and_lanes_that_were_stopped(trace):
    plain = list(trace.rival.steps)
    plain[4] = plain[4].model_copy(update={"emitted": [plain[4].emitted[0] + 1]})
    assert "texts part at token 5." in trace_card(with_rival(trace, plain))
    stopped = with_rival(trace, trace.rival.steps[:20])
    assert "same tokens, as far as both went." in trace_card(stopped)
    assert "estimate" in trace_card(with_rival(trace, trace.rival.steps[:10]))


def test_without_a_race_or_without_a_step(trace):
    alone = trace_card(with_rival(trace, None))
    assert "Speedup" not in alone
    assert "0 tokens in 0 steps: – tokens/s" in trace_card(
        with_rival(trace, None).model_copy(update={"steps": []})
    )


def test_hostile_text_is_text_everywhere(trace):
    settings = trace.header.settings.model_copy(update={"method": EVIL, "acceptance": EVIL})
    names = dict.fromkeys(("model", "tuned", "backend", "device", "prompt"), EVIL)
    header = trace.header.model_copy(update=names | {"settings": settings})
    pieces = {i: Piece(text=EVIL) for i in trace.pieces}
    source = trace_card(trace.model_copy(update={"header": header, "pieces": pieces}))
    page = Page(source)
    assert not page.open
    assert page.tags <= {"b", "bdi", "div", "span"}
    assert {name for name, _ in page.attributes} <= ATTRIBUTES
    assert "alert" not in "".join(value for _, value in page.attributes)
    assert html.escape(EVIL) in source
    assert 'class="tex2jax_ignore mathjax_ignore"' in source.split(">")[0]  # no TeX between $


def test_a_long_run_and_a_long_token_are_cut(trace, monkeypatch):
    monkeypatch.setattr(card, "MAX_TOKENS", 10)
    total = len(trace.new_token_ids)
    assert f"… and {total - 10} tokens more" in trace_card(trace)
    long = {i: Piece(text="x" * 10_000_000) for i in trace.pieces}
    assert len(trace_card(trace.model_copy(update={"pieces": long}))) < 50_000


def test_characters_of_several_tokens_are_whole(trace):
    assert "🔎" in trace_card(trace)
