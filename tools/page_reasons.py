"""Writes the sentences of codes for the page: `python tools/page_reasons.py`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from explorer.records.sentences import GUESSED, GUESSES, NODES, STEPS  # noqa: E402

PATH = ROOT / "assets" / "step_explorer" / "reasons.js"
HEADING = """\
// The sentences of a record's codes. Written by tools/page_reasons.py from
// explorer/records/sentences.py: change that, then run it again.
"""
TABLES = {
    "NODES": ("Record<string, [label: string, why: string]>", NODES),
    "GUESSED": ("string", GUESSED),
    "GUESSES": ("Record<string, string>", GUESSES),
    "STEPS": ("Record<string, string>", STEPS),
}


def declarations() -> str:
    """The whole file."""
    tables = [
        f"/** @type {{{kind}}} */\nexport const {name} = {_json(table)};\n"
        for name, (kind, table) in TABLES.items()
    ]
    return "\n".join([HEADING, *tables])


def _json(table: object) -> str:
    return json.dumps(table, ensure_ascii=False, indent=2)


if __name__ == "__main__":
    PATH.write_text(declarations(), encoding="utf-8")
    print(PATH.relative_to(ROOT))
