"""Formulas of the texts as HTML, typeset beforehand by KaTeX (tools/page_formulas.py).

So a page needs KaTeX's style sheet and fonts only, formulas are there before any script runs, and
each carries MathML for screen readers.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from explorer.records.paths import ASSETS

TEXTS = ASSETS / "learn"
FORMULAS = TEXTS / "typeset"
FORMULA = re.compile(r"(?<![\\$])(\${1,2})(?=[^\s$])([^$]+?)(?<=[^\s])\1(?!\$)")


class NotTypesetError(LookupError):
    """A text has a formula that was not typeset."""


def formulas_in(text: str) -> list[tuple[str, bool]]:
    """(TeX, display) of each `$…$` and `$$…$$` in a Markdown text, once, in order."""
    return list(dict.fromkeys((tex, sign == "$$") for sign, tex in FORMULA.findall(text)))


def file_of(key: str) -> Path:
    """Where the formulas of a chapter lie."""
    return FORMULAS / f"{key}.json"


def name_of(tex: str, display: bool) -> str:
    """A formula's name in that file."""
    return f"$${tex}$$" if display else f"${tex}$"


class Typeset:
    """The formulas of one chapter."""

    def __init__(self, key: str) -> None:
        path = file_of(key)
        self._key = key
        self._html = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    def html(self, tex: str, display: bool) -> str:
        """HTML of a formula. Raises NotTypesetError."""
        name = name_of(tex, display)
        if name not in self._html:
            raise NotTypesetError(
                f"{self._key}.md: {name} is not typeset: run python -m tools.page_formulas"
            )
        return self._html[name]
