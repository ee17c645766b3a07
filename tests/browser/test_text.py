"""Hostile text stays text, and the browser's rules are those of Python."""

from __future__ import annotations

import json

import pytest

from explorer.analysis.speedup import race_figures
from explorer.tracing.schema import Piece
from explorer.tracing.text import join_pieces, readable, visible
from tests.ui.fakes import FakeExplorer

TEXTS = [
    " fox",
    "<img src=x onerror=\"document.title='owned'\">",
    "</script><script>document.title='owned'</script>",
    "'\"`${document.title='owned'}&lt;b&gt;",
    "שלום עולם",
    "\u202eevil\u202c",
    "a\u200bb\u200d\ufeff",
    "\u0301combining",
    "\x00\x07\x1b[31m\x7f",
    "\r\n\t \u00a0\u2028",
    "😀👩‍👩‍👧",
    "中文字",
    "w" * 10_000,
    "",
]
BYTES = ["f09f", "9880", "c3", "a9", "ff", "e4b8", "zz"]
PIECES = [Piece(text=text) for text in TEXTS] + [Piece(text=None, bytes=raw) for raw in BYTES]


@pytest.fixture(scope="module")
def evil():
    """A trace in which every token is hostile."""
    trace = FakeExplorer(shapes=(1, 3)).trace(max_new_tokens=40)
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
    path = steps.download(lambda: steps.page.click(".sx-topbar >> text=html"), tmp_path)
    steps.page.goto(path.as_uri())
    steps.page.wait_for_selector(".sx-tree [role=treeitem]")
    assert steps.page.title() == "Medusa Explorer: a recorded run"
    assert steps.count("img") == 0


def test_right_to_left_text_is_isolated(alone):
    trace = FakeExplorer(text="abc שלום def שלום", shapes=(1,)).trace()
    steps = alone().open(trace)
    assert steps.lane("medusa") == "abc שלום def שלום"
    style = "e => getComputedStyle(e).unicodeBidi"
    assert steps.page.eval_on_selector(".sx-medusa-text .sx-tok", style) == "isolate"


def test_labels_are_those_of_python(alone):
    steps = alone()
    given = [piece.model_dump() for piece in PIECES]
    for limit in (None, 9, 40):
        shown = steps.page.evaluate(
            "async ([pieces, limit]) => { const { visible } = await import('./text.js');"
            " return pieces.map((piece) => visible(piece, limit)); }",
            [given, limit],
        )
        expected = [visible(piece, limit) for piece in PIECES[:-1]]
        assert shown[:-1] == expected
        assert shown[-1] == "\ufffd"  # broken hex


def test_paragraphs_are_those_of_python(alone):
    order = [0, 14, 15, 5, 16, 17, 10, 18, 0, 19, 6, 9, 14]
    pieces = [PIECES[i] for i in order]
    shown = alone().page.evaluate(
        """async (pieces) => {
          const { Assembler, readable } = await import('./text.js');
          const joined = new Assembler();
          let rest = '';
          const text = pieces.map((piece) => { const got = joined.add(piece); rest = got.rest;
            return got.text; }).join('');
          return [readable(text), rest];
        }""",
        [piece.model_dump() for piece in pieces],
    )
    whole = join_pieces(dict(enumerate(pieces[:-1])), range(len(pieces) - 1))
    assert shown == [readable(whole), "⟨F0⟩⟨9F⟩"]


@pytest.mark.parametrize("tokens", [6, 30, 160])
def test_speedup_and_spread_are_those_of_the_analysis(alone, tokens):
    trace = FakeExplorer(shapes=(1, 2)).trace(max_new_tokens=tokens)
    figures = alone().page.evaluate(
        """async (record) => {
          const [{ Trace }, { raceFigures }] = await Promise.all(
            [import('./trace.js'), import('./stats.js')]);
          return raceFigures(Trace.of(record));
        }""",
        json.loads(trace.model_dump_json()),
    )
    expected = race_figures(trace.steps, trace.plain)
    assert figures["speedup"] == pytest.approx(expected.speedup, rel=1e-9)
    assert figures["spread"] == pytest.approx(expected.spread, rel=1e-6)
    assert figures["perStep"] == pytest.approx(expected.tokens_per_step)
    assert figures["estimate"] == expected.estimate
