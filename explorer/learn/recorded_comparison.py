"""The recorded comparison of all methods, as chapters and the family read it.

tools/record_comparison.py timed it on one quiet machine; the Compare page shows the whole of it.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from explorer.learn.formats import day, plural
from explorer.records.paths import ASSETS

COMPARED = ASSETS / "compare" / "recorded.json"


@cache
def compared() -> dict[str, Any]:
    """What the Compare page would save as JSON."""
    return json.loads(COMPARED.read_text(encoding="utf-8"))


def machine() -> str:
    """Of what, where, when and how much was measured."""
    record = compared()
    return (
        f"{record['model']}, {record['backend']}, on {record['machine']}, "
        f"{day(record['created'])}: "
        f"{plural(record['prompts'], 'prompt')} with {record['max_new_tokens']} new tokens, plain "
        f"decoding {record['methods']['plain']['tokens_per_second']:.0f} tokens/s"
    )
