"""The family: every method that guesses ahead, as published and as measured here."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from explorer.learn.chapter import Chapter, See
from explorer.learn.formats import size
from explorer.learn.kin import AS_OF, ENGINES, KIN, Kin
from explorer.learn.sources import SOURCES
from explorer.records.numbers import ratio
from explorer.records.paths import ASSETS

MEASURED = ASSETS / "learn" / "measured.json"
DRAFTERS = {  # what a method needs beside the base model, as it ships
    "medusa": ASSETS / "heads" / "default" / "model.safetensors",
    "hydra": ASSETS / "heads" / "hydra" / "model.safetensors",
    "draft-model": ASSETS / "draft" / "model.safetensors",
}
ROWS = (
    ("drafting", "drafting"),
    ("memory", "memory"),
    ("verification", "verification"),
    ("drift", "drift of the distribution guessed from"),
    ("published", "speedup"),
    ("parallel", "tensor-parallel serving"),
    ("training", "training cost"),
)


def numbers() -> dict[str, object]:
    """The status of engines."""
    return {"engines": ENGINES, "as_of": AS_OF}


def data() -> dict[str, Any]:
    """The members with their measured cells, and the rows of the table."""
    return {
        "rows": ROWS,
        "members": [_member(kin) for kin in KIN],
        "question": _question(),
    }


def _member(kin: Kin) -> dict[str, Any]:
    sources = [SOURCES[key] for key in kin.cited]
    return asdict(kin) | {
        "cited": [
            {"name": source.name, "title": source.title_of(), "url": source.url}
            for source in sources
        ],
        "measured": measured(kin.method),
    }


def measured(method: str | None) -> dict[str, str]:
    """What was measured of a method of this product, in words, with machine and date."""
    cells: dict[str, str] = {}
    if method in DRAFTERS:
        cells["memory"] = f"{size(DRAFTERS[method].stat().st_size)} beside the default model"
    for group in json.loads(MEASURED.read_text(encoding="utf-8")):
        found = group["methods"].get(method)
        if found:
            cells["published"] = _speed(found, group)
            cells["drift"] = (
                f"text the same as plain decoding's: {found['identical']} of {group['prompts']} "
                "prompts"
            )
    return cells


def _speed(found: dict[str, Any], group: dict[str, Any]) -> str:
    spread = f" ± {ratio(found['half_width'])}" if "half_width" in found else ""
    steps = found.get("tokens_per_step")
    tau = f", {ratio(steps)} tokens per step" if steps else ""
    return (
        f"{ratio(found['speedup'])}×{spread}{tau}: {group['prompts']} prompts, {group['model']}, "
        f"plain decoding {group['plain_tokens_per_second']:.0f} tokens/s, {group['machine']}, "
        f"{group['measured']}"
    )


def _question() -> dict[str, object]:
    """Which needs neither training nor a second model?"""
    offered = [kin for kin in KIN if kin.key in ("draft", "medusa", "ngram", "eagle")]
    free = [kin.training == "none" and kin.guesses[0] in ("base", "text") for kin in offered]
    return {
        "ask": "Which of these needs neither training nor a second model?",
        "options": [kin.name for kin in offered],
        "right": free.index(True),
        "why": "It copies from the text so far. So does lookahead from its own earlier guesses.",
    }


def see() -> See:
    """A run that shows one of them at work."""
    return See("code", 2, "Medusa at work; Compare runs the methods of this product side by side.")


CHAPTER = Chapter("family", "The family", numbers, data, see)
