"""Texts and token pieces that a page must show as text, whatever they hold."""

from explorer.records.piece import Piece

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
