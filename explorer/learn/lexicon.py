"""The glossary's words, which a text may mark: `[[hidden state]]`, `[[heads|Medusa head]]`."""

from __future__ import annotations

import json
import re
from functools import cache

from explorer.records.paths import ASSETS

# Which chapter explains a word of the glossary (docs/glossary.md).
LESSONS = {
    "base model": "memory_wall",
    "plain decoding": "memory_wall",
    "floor": "memory_wall",
    "backend": "memory_wall",
    "KV cache": "memory_wall",
    "tokens per second": "memory_wall",
    "draft model": "draft_and_verify",
    "draft": "draft_and_verify",
    "drafter": "draft_and_verify",
    "step": "draft_and_verify",
    "chain": "draft_and_verify",
    "verify pass": "draft_and_verify",
    "bonus token": "draft_and_verify",
    "acceptance rate": "draft_and_verify",
    "draft acceptance rate": "draft_and_verify",
    "tokens per step": "draft_and_verify",
    "break-even": "draft_and_verify",
    "speedup": "draft_and_verify",
    "lossless": "speculative_sampling",
    "rejection sampling": "speculative_sampling",
    "sample acceptance": "speculative_sampling",
    "LM head": "heads",
    "hidden state": "heads",
    "Medusa head": "heads",
    "draft vocabulary": "heads",
    "root": "tree",
    "candidate tree": "tree",
    "node": "tree",
    "depth": "tree",
    "rank path": "tree",
    "tree shape": "tree",
    "row": "tree_attention",
    "tree-attention mask": "tree_attention",
    "position": "tree_attention",
    "commit": "tree_attention",
    "numerical tie": "tree_attention",
    "acceptance rule": "accepting",
    "accepted path": "accepting",
    "greedy acceptance": "accepting",
    "typical acceptance": "accepting",
    "cost curve": "best_tree",
    "typical prompt": "best_tree",
    "interval": "best_tree",
    "Medusa-1": "training",
    "Medusa-2": "training",
    "Hydra head": "family",
    "lookahead decoding": "family",
    "prompt lookup": "family",
    "trace": "words",
}
_FILE = ASSETS / "step_explorer" / "glossary.js"


@cache
def glossary() -> dict[str, str]:
    """What the page says of each word (written by tools/page_glossary.py)."""
    text = _FILE.read_text(encoding="utf-8")
    return json.loads(re.findall(r"GLOSSARY = (\{.*?\});", text, re.DOTALL)[0])


def known_word(text: str, word: str = "") -> str | None:
    """The glossary's word for a marked text: itself, its singular or its small first letter."""
    wanted = word or text
    forms = [wanted, wanted[:1].lower() + wanted[1:]]
    if not word:
        forms += [form[:-1] for form in forms if form.endswith("s")]
    return next((form for form in forms if form in glossary()), None)
