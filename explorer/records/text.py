"""From token pieces to text: how one token is shown, and the text of several.

A piece of a byte-level vocabulary may hold only part of a character. Alone it shows its bytes
(⟨F0⟩⟨9F⟩); joined with its neighbours it becomes the character.
"""

from __future__ import annotations

import codecs
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from explorer.records.schema import Piece

ISOLATE, END_ISOLATE = "\u2068", "\u2069"  # first-strong isolate … pop directional isolate
ELLIPSIS = "…"

_MARKS = {" ": "␣", "\n": "↵", "\t": "⇥", "\r": "␍"}
_NAMES = {
    "\x00": "NUL",
    "\x07": "BEL",
    "\x08": "BS",
    "\x0b": "VT",
    "\x0c": "FF",
    "\x1b": "ESC",
    "\x7f": "DEL",
    "\u0085": "NEL",
    "\u00a0": "NBSP",
    "\u00ad": "SHY",
    "\u061c": "ALM",
    "\u200b": "ZWSP",
    "\u200c": "ZWNJ",
    "\u200d": "ZWJ",
    "\u200e": "LRM",
    "\u200f": "RLM",
    "\u2028": "LSEP",
    "\u2029": "PSEP",
    "\u202a": "LRE",
    "\u202b": "RLE",
    "\u202c": "PDF",
    "\u202d": "LRO",
    "\u202e": "RLO",
    "\u2060": "WJ",
    "\u2066": "LRI",
    "\u2067": "RLI",
    "\u2068": "FSI",
    "\u2069": "PDI",
    "\ufeff": "BOM",
}
_HIDDEN_CATEGORIES = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"}
_RIGHT_TO_LEFT = {"R", "AL", "AN"}


@dataclass(frozen=True)
class Span:
    """Tokens `first` … `first + count − 1`, which only together make up `text`."""

    text: str
    first: int
    count: int


def piece_of(pieces: Mapping[int, Piece], token_id: int) -> Piece:
    """The piece of a token; its number in brackets if the trace lacks its text."""
    return pieces.get(token_id) or Piece(text=f"⟨token {token_id}⟩")


def piece_bytes(piece: Piece) -> bytes:
    """The raw bytes of a piece; U+FFFD where a damaged trace gives no valid hex."""
    if piece.text is not None:
        return piece.text.encode("utf-8", "replace")
    try:
        return bytes.fromhex(piece.bytes or "")
    except ValueError:
        return "\ufffd".encode()


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
        text += _byte_marks(decoder.getstate()[0])
        out.append(Span(text, first, len(token_ids) - first))
    return out


def encodable(text: str) -> str:
    """The text with lone surrogates (half an emoji, pasted) replaced: they cannot be written."""
    return text.encode("utf-8", "replace").decode("utf-8")


def visible(piece: Piece, limit: int | None = None) -> str:
    """One token for a label: ␣ ↵ ⇥, bytes as ⟨F0⟩, control and format characters by name.

    At most `limit` characters of it are kept; right-to-left text is isolated so that it cannot
    reorder the text around it.
    """
    marked = visible_text(piece_bytes(piece).decode("utf-8", "surrogateescape"))
    if limit is not None and len(marked) > limit:
        marked = marked[: limit - 1] + ELLIPSIS
    return _isolated(marked) if marked else "⟨empty⟩"


def visible_text(text: str) -> str:
    """Make every character of a text visible, as in `visible`."""
    marked = "".join(map(_visible_character, text))
    starts_combining = marked and unicodedata.combining(marked[0])
    return f"◌{marked}" if starts_combining else marked


def readable(text: str) -> str:
    """Text for a running paragraph: line breaks and tabs stay, other controls show by name."""
    return "".join(
        char if char in "\n\t" or unicodedata.category(char) not in {"Cc", "Cs"} else _name(char)
        for char in text.replace("\r\n", "\n")
    )


def _visible_character(char: str) -> str:
    if char in _MARKS:
        return _MARKS[char]
    if "\udc80" <= char <= "\udcff":  # a byte that surrogateescape could not decode
        return _byte_marks(bytes([ord(char) - 0xDC00]))
    return _name(char) if unicodedata.category(char) in _HIDDEN_CATEGORIES else char


def _name(char: str) -> str:
    return f"⟨{_NAMES.get(char) or f'U+{ord(char):04X}'}⟩"


def _byte_marks(data: bytes) -> str:
    return "".join(f"⟨{byte:02X}⟩" for byte in data)


def _isolated(text: str) -> str:
    if any(unicodedata.bidirectional(char) in _RIGHT_TO_LEFT for char in text):
        return f"{ISOLATE}{text}{END_ISOLATE}"
    return text
