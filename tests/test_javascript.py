"""The page's modules without a page: their own tests, and that their rules are Python's."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import pytest

from explorer.records.schema import Piece
from explorer.records.text import join_pieces, readable, visible
from explorer.ui.settings import SettingsInputs
from tests.node import ROOT, ask_module, run_node
from tests.ui.hostile import PIECES


def test_the_modules_pass_their_own_tests():
    files = sorted(str(path.relative_to(ROOT)) for path in Path(ROOT, "tests/js").glob("*.test.js"))
    done = run_node("--test", "--test-reporter=tap", *files)
    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.search(r"^# pass (\d+)$", done.stdout, re.MULTILINE)
    assert passed
    assert int(passed[1]) >= len(files) > 0


@pytest.mark.parametrize("limit", [None, 9, 40])
def test_labels_are_those_of_python(limit):
    shown = ask_module(
        "step_explorer/text.js",
        "given.pieces.map((piece) => module.visible(piece, given.limit))",
        {"pieces": [piece.model_dump() for piece in PIECES], "limit": limit},
    )
    assert shown[:-1] == [visible(piece, limit) for piece in PIECES[:-1]]
    assert shown[-1] == "\ufffd"  # broken hex


def test_paragraphs_are_those_of_python():
    order = [0, 14, 15, 5, 16, 17, 10, 18, 0, 19, 6, 9, 14]
    pieces = [PIECES[i] for i in order]
    shown = ask_module(
        "step_explorer/text.js",
        """(() => {
          const joined = new module.Assembler();
          const parts = given.map((piece) => joined.add(piece));
          return [module.readable(parts.map(({ text }) => text).join("")), parts.at(-1).rest];
        })()""",
        [piece.model_dump() for piece in pieces],
    )
    whole = join_pieces(dict(enumerate(pieces[:-1])), range(len(pieces) - 1))
    assert shown == [readable(whole), "⟨F0⟩⟨9F⟩"]


def test_characters_are_named_as_in_python():
    """All that Python's Unicode knows; the browser isolates more of them, which is harmless."""
    assigned = [chr(code) for code in range(0x3000) if unicodedata.category(chr(code)) != "Cn"]
    shown = ask_module(
        "step_explorer/text.js",
        "given.map((text) => module.visibleText(text))",
        [f"x{char}y" for char in assigned],
    )
    isolates = re.compile(r"^\u2068(.*)\u2069$")
    expected = [visible(Piece(text=f"x{char}y")) for char in assigned]
    assert shown == [isolates.sub(r"\1", label) for label in expected]


def test_links_know_every_setting_in_the_page_order():
    assert ask_module("step_explorer/permalink.js", "module.SETTINGS") == SettingsInputs.names()
