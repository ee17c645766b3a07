"""The glossary's words, which a text may mark: `[[hidden state]]`, `[[heads|Medusa head]]`."""

from __future__ import annotations

import json
from functools import cache

from explorer.records.paths import ASSETS

_FILE = ASSETS / "step_explorer" / "glossary.js"


@cache
def glossary() -> dict[str, str]:
    """What the page says of each word (written by tools/page_glossary.py)."""
    text = _FILE.read_text(encoding="utf-8")
    return json.loads(text[text.index("= {") + 2 : text.rindex(";")])


def known_word(text: str, word: str = "") -> str | None:
    """The glossary's word for a marked text: itself, its singular or its small first letter."""
    wanted = word or text
    forms = [wanted, wanted[:1].lower() + wanted[1:]]
    if not word:
        forms += [form[:-1] for form in forms if form.endswith("s")]
    return next((form for form in forms if form in glossary()), None)
