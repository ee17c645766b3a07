"""Writes the page's glossary from docs/glossary.md: `python -m tools.page_glossary`.

Which chapter of Learn explains a word comes from explorer.learn.lexicon.py.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from explorer.learn.lexicon import LESSONS

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "docs" / "glossary.md"
PATH = ROOT / "assets" / "step_explorer" / "glossary.js"
HEADING = """\
// What the page says of a word. Written by tools/page_glossary.py from docs/glossary.md: change
// that, then run it again.

/** @type {Record<string, string>} */
export const GLOSSARY = """
LESSONS_HEADING = """
/**
 * The chapter of Learn that explains a word.
 * @type {Record<string, string>}
 */
export const LESSONS = """
ROW = re.compile(r"^\| ([^|]+?) \| ([^|]+?) \|[^|]*\|$", re.MULTILINE)
NO_WORDS = {"word", "---"}


def glossary(text: str) -> dict[str, str]:
    """One sentence by word: the first two columns of the tables of a Markdown text."""
    rows = ROW.findall(text)
    return {word: meaning.replace("`", "") for word, meaning in rows if word not in NO_WORDS}


def declarations() -> str:
    """The whole file."""
    words = glossary(SOURCE.read_text(encoding="utf-8"))
    lessons = {word: LESSONS[word] for word in words if word in LESSONS}
    return (
        f"{HEADING}{json.dumps(words, ensure_ascii=False, indent=2)};\n{LESSONS_HEADING}"
        f"{json.dumps(lessons, ensure_ascii=False, indent=2)};\n"
    )


if __name__ == "__main__":
    PATH.write_text(declarations(), encoding="utf-8")
    print(PATH.relative_to(ROOT))
