"""From token pieces to the text of several; how one is shown alone is in `records/piece.py`."""

from __future__ import annotations

import codecs
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from explorer.records.piece import Piece, byte_marks, piece_bytes


@dataclass(frozen=True)
class Span:
    """Tokens `first` … `first + count − 1`, which only together make up `text`."""

    text: str
    first: int
    count: int


def piece_of(pieces: Mapping[int, Piece], token_id: int) -> Piece:
    """The piece of a token; its number in brackets if the trace lacks its text."""
    return pieces.get(token_id) or Piece(text=f"⟨token {token_id}⟩")


def join_pieces(pieces: Mapping[int, Piece], token_ids: Iterable[int]) -> str:
    """The text of the tokens; bytes that never become a character turn into U+FFFD."""
    return b"".join(piece_bytes(piece_of(pieces, i)) for i in token_ids).decode("utf-8", "replace")


def spans(pieces: Mapping[int, Piece], token_ids: Sequence[int]) -> list[Span]:
    """Split the tokens into the shortest runs that hold whole characters.

    A character that is still incomplete at the end shows its bytes.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    out: list[Span] = []
    text, first = "", 0
    for i, token in enumerate(token_ids):
        text += decoder.decode(piece_bytes(piece_of(pieces, token)))
        if not decoder.getstate()[0]:
            out.append(Span(text, first, i + 1 - first))
            text, first = "", i + 1
    if first < len(token_ids):
        text += byte_marks(decoder.getstate()[0])
        out.append(Span(text, first, len(token_ids) - first))
    return out


def encodable(text: str) -> str:
    """The text with lone surrogates (half an emoji, pasted) replaced: they cannot be written."""
    return text.encode("utf-8", "replace").decode("utf-8")


def readable(text: str) -> str:
    """Text for a running paragraph: line breaks and tabs stay, other controls show by number."""
    return "".join(
        f"⟨U+{ord(char):04X}⟩"
        if char not in "\n\t" and unicodedata.category(char) in {"Cc", "Cs"}
        else char
        for char in text.replace("\r\n", "\n")
    )
