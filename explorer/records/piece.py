"""How one token is written, and the label by which a page or a figure shows it.

A piece of a byte-level vocabulary may hold only part of a character. Alone it shows its bytes
(⟨F0⟩⟨9F⟩); joined with its neighbours it becomes the character (`records/text.py`).
"""

from __future__ import annotations

import unicodedata
from functools import cached_property
from typing import Any

from pydantic import Field, computed_field, model_validator

from explorer.records.record import Record, without

ISOLATE, END_ISOLATE = "\u2068", "\u2069"  # first-strong isolate … pop directional isolate
ELLIPSIS = "…"
MAX_LABEL = 200  # characters

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


class Piece(Record):
    """How one token is written. `text` is None where its bytes alone are not valid UTF-8."""

    text: str | None
    bytes: str | None = Field(
        default=None, description="hex of the raw bytes, only where text is None"
    )

    @model_validator(mode="before")
    @classmethod
    def _label_anew(cls, given: Any) -> Any:
        return without(given, "label")

    @computed_field
    @cached_property
    def label(self) -> str:
        """The token alone: ␣ ↵ ⇥, bytes as ⟨F0⟩, control and format characters by name.

        Right-to-left text is isolated, so that it cannot reorder the text around it.
        """
        text = piece_bytes(self).decode("utf-8", "surrogateescape")
        marked = _cut(_visible_text(text[: MAX_LABEL + 1]), MAX_LABEL)
        return _isolated(marked) if marked else "⟨empty⟩"


def piece_bytes(piece: Piece) -> bytes:
    """The raw bytes of a piece; U+FFFD where a damaged trace gives no valid hex."""
    if piece.text is not None:
        return piece.text.encode("utf-8", "replace")
    try:
        return bytes.fromhex(piece.bytes or "")
    except ValueError:
        return "\ufffd".encode()


def shortened(label: str, limit: int) -> str:
    """At most `limit` characters of a label, the marks that isolate it apart."""
    if label.startswith(ISOLATE):
        return f"{ISOLATE}{_cut(label[1:-1], limit)}{END_ISOLATE}"
    return _cut(label, limit)


def _visible_text(text: str) -> str:
    """Make every character of a text visible, as in a label."""
    marked = "".join(map(_visible_character, text))
    starts_combining = marked and unicodedata.combining(marked[0])
    return f"◌{marked}" if starts_combining else marked


def byte_marks(data: bytes) -> str:
    """Bytes that are no text, as ⟨F0⟩⟨9F⟩."""
    return "".join(f"⟨{byte:02X}⟩" for byte in data)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + ELLIPSIS


def _visible_character(char: str) -> str:
    if char in _MARKS:
        return _MARKS[char]
    if "\udc80" <= char <= "\udcff":  # a byte that surrogateescape could not decode
        return byte_marks(bytes([ord(char) - 0xDC00]))
    if unicodedata.category(char) in _HIDDEN_CATEGORIES:
        return f"⟨{_NAMES.get(char) or f'U+{ord(char):04X}'}⟩"
    return char


def _isolated(text: str) -> str:
    if any(unicodedata.bidirectional(char) in _RIGHT_TO_LEFT for char in text):
        return f"{ISOLATE}{text}{END_ISOLATE}"
    return text
