import itertools
import random

import pytest

from explorer.records.piece import END_ISOLATE, ISOLATE, MAX_LABEL, Piece, piece_bytes, shortened
from explorer.records.text import (
    encodable,
    join_pieces,
    piece_of,
    readable,
    spans,
)


def text(value: str) -> Piece:
    return Piece(text=value)


def raw(value: str) -> Piece:
    return Piece(text=None, bytes=value)


EMOJI = {1: raw("f09f"), 2: raw("9880"), 3: text(" is"), 4: raw("20f0"), 5: raw("9f"), 6: raw("ff")}


@pytest.mark.parametrize(
    ("piece", "shown"),
    [
        (text(" fox"), "␣fox"),
        (text("\n\n"), "↵↵"),
        (text("\t"), "⇥"),
        (text("\r\n"), "␍↵"),
        (text("a\x00b"), "a⟨NUL⟩b"),
        (text("\x1b[31m"), "⟨ESC⟩[31m"),
        (text("\u200b"), "⟨ZWSP⟩"),
        (text("\u202eevil"), "⟨RLO⟩evil"),
        (text("\u00a0"), "⟨NBSP⟩"),
        (text("\x05"), "⟨U+0005⟩"),
        (text("\u3000"), "⟨U+3000⟩"),
        (text("\u0301"), "◌\u0301"),
        (text("é"), "é"),
        (text(""), "⟨empty⟩"),
        (text("<img src=x>"), "<img␣src=x>"),
        (raw("f0"), "⟨F0⟩"),
        (raw("f09f"), "⟨F0⟩⟨9F⟩"),
        (raw("20f0"), "␣⟨F0⟩"),
        (raw("c3a9ff"), "é⟨FF⟩"),
        (raw("not hex"), "\ufffd"),
        (text("😀"), "😀"),
    ],
)
def test_labels(piece, shown):
    assert piece.label == shown


@pytest.mark.parametrize("word", ["שלום", "مرحبا", "abc שלום"])
def test_right_to_left_text_is_isolated(word):
    assert text(word).label == ISOLATE + word.replace(" ", "␣") + END_ISOLATE


def test_limit_keeps_the_isolation_and_the_length():
    assert shortened(text("x" * 10_000).label, 12) == "x" * 11 + "…"
    assert len(text("\x00" * 10_000).label) == MAX_LABEL
    shown = shortened(text("ש" * 100).label, 5)
    assert (shown[0], shown[-1], len(shown)) == (ISOLATE, END_ISOLATE, 7)


def test_a_file_brings_no_label_of_its_own():
    assert Piece.model_validate({"text": " a", "label": "b"}).label == "␣a"
    assert text(" a").model_dump() == {"text": " a", "bytes": None, "label": "␣a"}


def test_pieces_of_an_emoji_join_to_it():
    assert join_pieces(EMOJI, [1, 2, 3, 4, 5, 2]) == "😀 is \U0001f600"
    assert join_pieces(EMOJI, [1, 3]) == "\ufffd is"


def test_spans_hold_whole_characters():
    assert [(s.text, s.first, s.count) for s in spans(EMOJI, [1, 2, 3, 4, 5, 2, 3])] == [
        ("😀", 0, 2),
        (" is", 2, 1),
        (" 😀", 3, 3),
        (" is", 6, 1),
    ]


def test_an_unfinished_character_shows_its_bytes():
    assert [s.text for s in spans(EMOJI, [3, 1])] == [" is", "⟨F0⟩⟨9F⟩"]
    assert [s.text for s in spans(EMOJI, [6, 3])] == ["\ufffd", " is"]
    assert spans(EMOJI, []) == []


def test_spans_say_what_join_says():
    rng = random.Random(1)
    letters = ["a", " b", "é", "😀", "漢字", "\n"]
    for _ in range(200):
        data = "".join(rng.choices(letters, k=12)).encode()
        cuts = sorted({0, len(data), *(rng.randrange(len(data)) for _ in range(9))})
        pieces = {i: raw(data[a:b].hex()) for i, (a, b) in enumerate(itertools.pairwise(cuts))}
        ids = list(pieces)
        found = spans(pieces, ids)
        assert "".join(span.text for span in found) == join_pieces(pieces, ids) == data.decode()
        assert [i for span in found for i in range(span.first, span.first + span.count)] == ids


def test_readable_keeps_lines_and_shows_other_controls():
    assert readable("a\r\n\tb\x00\x1b") == "a\n\tb⟨U+0000⟩⟨U+001B⟩"


def test_unknown_token_and_bytes():
    assert piece_of({}, 7).text == "⟨token 7⟩"
    assert join_pieces({}, [7]) == "⟨token 7⟩"
    assert piece_bytes(text("é")) == b"\xc3\xa9"


def test_half_an_emoji_becomes_something_that_can_be_written():
    assert encodable("half \ud83d!") == "half ?!"
    assert encodable("whole 🙂") == "whole 🙂"
