"""Beat the heads: a visitor guesses the next words of a recorded text, as the heads do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

from explorer.analysis.formulas import typical_bar
from explorer.learn.chapter import Chapter, See
from explorer.learn.recorded_runs import heads_before, label, recorded_run, texts_of
from explorer.records.settings import DecodeSettings
from explorer.records.step import Step, TopTokens

RUNS = ("story", "code", "JSON")
ROUNDS = 5  # of each run
OFFERED = 4  # tokens to choose from
CONTEXT = 260  # characters of the text before


def numbers() -> dict[str, Any]:
    """How the heads did in the rounds of the game."""
    rounds = [one for name in RUNS for one in rounds_of(name)]
    right = sum(_in_a_row(one) for one in rounds)
    usual = DecodeSettings()
    return {"rounds": len(rounds), "heads": right / len(rounds), "epsilon": usual.epsilon}


def _in_a_row(one: dict[str, Any]) -> int:
    right = [slot["head"] == slot["true"] for slot in one["slots"]]
    return (*right, False).index(False)


def data() -> dict[str, Any]:
    """The rounds of each text."""
    return {"texts": [{"name": name, "rounds": rounds_of(name)} for name in RUNS]}


@cache
def rounds_of(name: str) -> list[dict[str, Any]]:
    """Steps of a run at which all heads' positions are known, spread over the text."""
    steps = recorded_run(name).steps
    playable = [step for step in steps if _slots(name, step) is not None]
    chosen = playable[:: max(1, len(playable) // ROUNDS)][:ROUNDS]
    return [_round(name, step) for step in chosen]


def _round(name: str, step: Step) -> dict[str, Any]:
    trace = recorded_run(name)
    written = step.context_length - len(trace.header.prompt_ids)
    text = texts_of(trace, [*trace.new_token_ids[:written], step.token_ids[0]])
    return {
        "run": name,
        "step": step.index,
        "prompt": trace.header.prompt,
        "text": text[-CONTEXT:],
        "slots": _slots(name, step),
    }


def _slots(name: str, step: Step) -> list[dict[str, Any]] | None:
    """What the heads guess after the root, and what the base model says there; None: unknown."""
    trace, after = recorded_run(name), _base_model(name)
    tokens = trace.new_token_ids[step.context_length - len(trace.header.prompt_ids) + 1 :]
    heads = heads_before(name, step)
    if not heads or len(tokens) < len(heads):
        return None
    slots = []
    for ahead, (head, true) in enumerate(zip(heads, tokens, strict=False)):
        wanted = after.get(step.context_length + ahead)
        if wanted is None or wanted.ids[0] != true:
            return None
        slots.append(_slot(name, head, wanted, true))
    return slots


def _slot(name: str, head: TopTokens, wanted: TopTokens, true: int) -> dict[str, Any]:
    """One place to fill. Tokens are named by their number in `options`."""
    trace = recorded_run(name)
    guesses = [token for token in (head.ids[0], *wanted.ids[1:], *head.ids[1:]) if token != true]
    offered = sorted([true, *list(dict.fromkeys(guesses))[: OFFERED - 1]])  # by id: no order to see
    known = dict(zip(wanted.ids, wanted.probs, strict=True))
    usual = DecodeSettings()
    return {
        "options": [
            {
                "name": label(trace, token),
                "text": texts_of(trace, [token]),
                "p": known.get(token),
            }
            for token in offered
        ],
        "true": offered.index(true),
        "head": offered.index(head.ids[0]),
        "sure": head.probs[0],
        "least": wanted.probs[-1],
        "bar": typical_bar(least_entropy(wanted.probs), usual.epsilon, usual.delta),
    }


def least_entropy(probs: Sequence[float]) -> float:
    """The entropy of a distribution, in nats, of which only the likeliest tokens are known.

    All other tokens count as one, so it is the least that it can be.
    """
    masses = [*probs, max(0.0, 1 - sum(probs))]
    return -sum(mass * math.log(mass) for mass in masses if mass > 0)


@cache
def _base_model(name: str) -> dict[int, TopTokens]:
    """The base model's best tokens after each absolute position of the text."""
    return {
        step.context_length + depth: step.base_top[row]
        for step in recorded_run(name).steps
        if step.base_top
        for depth, row in enumerate(step.accepted)
    }


def see() -> See:
    """The first round's step."""
    return See(RUNS[0], rounds_of(RUNS[0])[0]["step"] + 1, "The heads' guesses of the first round.")


CHAPTER = Chapter("beat_the_heads", "Beat the heads", numbers, data, see)
