"""Hostile text stays text in the browser."""

from __future__ import annotations

import pytest

from explorer.records.piece import Piece
from tests.ui.fakes import FakeLab
from tests.ui.hostile import PIECES, TEXTS


@pytest.fixture(scope="module")
def evil():
    """A trace in which every token is hostile."""
    trace = FakeLab(shapes=(1, 3)).trace(max_new_tokens=40)
    ids = sorted(trace.pieces)
    pieces = {token: PIECES[i % len(PIECES)] for i, token in enumerate(ids)}
    header = trace.header.model_copy(update={"prompt": TEXTS[1], "model": TEXTS[2]})
    return trace.model_copy(update={"pieces": pieces, "header": header})


def test_hostile_tokens_are_text_in_every_view(alone, evil, tmp_path):
    steps = alone().open(evil, "<img src=x onerror=alert(1)>.json.gz")
    for number in (1, 2, 3):
        steps.show(number).press("t", "m", "x")
        for row in range(5):
            steps.ask(f"explorer.select({row})")
        steps.press("t")
    steps.press("p", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight", "Escape")
    assert steps.count("img, script[src=x], iframe") == 0
    assert steps.page.evaluate("document.scripts.length") == 1
    assert steps.page.title() != "owned"
    assert steps.page.evaluate("document.documentElement.scrollWidth") <= 1440
    path = steps.download(lambda: steps.page.click(".sx-topbar >> text=web page"), tmp_path)
    steps.page.goto(path.as_uri())
    steps.page.wait_for_selector(".sx-tree [role=treeitem]")
    assert steps.page.title() == "Medusa Explorer: a recorded run"
    assert steps.count("img") == 0


def test_letters_of_a_word_join_across_tokens_and_turned_text_is_isolated(alone):
    text = "مرحبا abc \u202eevil"
    steps = alone().open(FakeLab(text=text, shapes=(1,)).trace())
    assert steps.lane("own") == text
    styles = steps.page.eval_on_selector_all(
        ".sx-lane.is-own .sx-tok",
        "all => all.map(e => [e.textContent, getComputedStyle(e).unicodeBidi])",
    )
    # Isolated letters are drawn apart, which no Arabic reader would read as a word.
    assert {bidi for shown, bidi in styles if "\u202e" not in shown} == {"normal"}
    assert {bidi for shown, bidi in styles if "\u202e" in shown} == {"isolate"}


def test_a_character_of_several_tokens_looks_as_its_farthest_guess(alone):
    """Its first token may be the model's own, and so may the first of the next step."""
    trace = FakeLab(shapes=(3,)).trace(max_new_tokens=12)
    long = next(step for step in trace.steps if len(step.emitted) == 4)
    parts = [Piece(text=None, bytes=part) for part in ("f0", "9f", "98", "80")]
    ids = range(90_000, 90_004)
    step = long.model_copy(update={"emitted": list(ids), "index": 0})
    first = next(iter(trace.steps))
    assert first.tree == step.tree
    pieces = trace.pieces | dict(zip(ids, parts, strict=True))
    alone_in_it = trace.model_copy(update={"steps": [step], "pieces": pieces, "rival": None})
    steps = alone().open(alone_in_it)
    assert steps.lane("own") == "😀"
    assert "d3" in steps.page.get_attribute(".sx-lane.is-own .sx-tok", "class").split()
    steps.page.hover(".sx-lane.is-own .sx-tok")
    said = steps.page.get_attribute(".sx-lane.is-own .sx-tok", "title")
    assert "root" in said
    assert "accepted at depth 3" in said
