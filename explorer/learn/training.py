"""Chapter 9: how heads learn, and a class that trains some."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from explorer.analysis.formulas import head_weight
from explorer.learn.chapter import Chapter, See
from explorer.learn.formats import percent
from explorer.records.paths import ASSETS

CLASS = ASSETS / "learn" / "class.json"
HEADS = ASSETS / "heads" / "default" / "config.json"


@cache
def recorded_class() -> dict[str, Any]:
    """The class that tools/record_class.py recorded."""
    return json.loads(CLASS.read_text(encoding="utf-8"))


@cache
def stages() -> list[dict[str, Any]]:
    """The trainings of the shipped heads, the first one first, with what each epoch measured."""
    found: list[dict[str, Any]] = []
    past = json.loads(HEADS.read_text(encoding="utf-8"))["training"]
    while past:
        found.insert(0, past)
        past = past.get("started_from")
    return found


def numbers() -> dict[str, object]:
    """Weights of the heads, the class, and what the shipped heads reached."""
    seen, last = recorded_class(), stages()[-1]
    return {
        "weights": [head_weight(k) for k in range(1, 5)],
        "first": seen["frames"][0],
        "last": seen["frames"][-1],
        "early": seen["frames"][1],
        "seen": seen,
        "stages": stages(),
        "reached": last["history"][-1]["accuracy"]["top1"],
        "tokens": last["train_tokens"],
        "recipe": last,
    }


def data() -> dict[str, Any]:
    """The recorded class, and the epochs of the shipped heads."""
    epochs = [
        {"stage": number, "epoch": epoch["epoch"], "top1": epoch["accuracy"]["top1"]}
        for number, stage in enumerate(stages(), start=1)
        for epoch in stage["history"]
    ]
    return {
        "recorded": recorded_class(),
        "epochs": epochs,
        "weights": [head_weight(k) for k in range(1, 5)],
        "question": _question(),
    }


def _question() -> dict[str, object]:
    """Which head has the lowest loss at the end of the recorded class?"""
    last = recorded_class()["frames"][-1]
    losses, top1 = last["losses"], last["top1"]
    said = ", ".join(f"L{k} = {loss:.2f}" for k, loss in enumerate(losses, start=1))
    return {
        "ask": "At the end of the recorded class, which head had the lowest loss?",
        "options": [f"head {k}" for k in range(1, len(losses) + 1)],
        "right": losses.index(min(losses)),
        "why": f"{said} on the text that they learn from. The further ahead, the less the hidden "
        f"state knows; that they lie so close means that the heads have nearly learned this "
        f"little text by heart. On held-out text {percent(top1[0])} of head 1's guesses were right "
        f"and {percent(top1[-1])} of head {len(top1)}'s.",
    }


def see() -> See:
    """A step of the shipped heads."""
    return See("code", 2, "What heads that trained for hours guess.")


CHAPTER = Chapter("training", "Training heads", numbers, data, see)
