"""The page's modules without a page: their own tests, and that their rules are Python's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from explorer.records.piece import shortened
from explorer.records.text import join_pieces, readable
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


@pytest.mark.parametrize("limit", [2, 9, 40])
def test_labels_are_cut_as_in_python(limit):
    labels = [piece.label for piece in PIECES]
    shown = ask_module(
        "step_explorer/text.js",
        "given.labels.map((label) => module.shortened(label, given.limit))",
        {"labels": labels, "limit": limit},
    )
    assert shown == [shortened(label, limit) for label in labels]


def test_paragraphs_are_those_of_python():
    order = [0, 8, 14, 15, 5, 16, 17, 10, 18, 0, 19, 6, 9, 14]
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


def test_links_know_every_setting_in_the_page_order():
    assert ask_module("step_explorer/permalink.js", "module.SETTINGS") == SettingsInputs.names()
