"""Chapter 3: a guess is kept or redrawn so that the text keeps the base model's distribution."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from explorer.analysis.formulas import overlap, residual_distribution
from explorer.learn.chapter import Chapter, See
from explorer.learn.recorded_runs import gallery_name, label, recorded_run
from explorer.records.step import Step, TopTokens, Trial

RUN = "sampling"
DRAWS = 10_000
PRESETS = (
    ("a fair guess", (0.42, 0.28, 0.18, 0.09, 0.03), (0.30, 0.36, 0.08, 0.16, 0.10)),
    ("a poor guess", (0.42, 0.28, 0.18, 0.09, 0.03), (0.02, 0.04, 0.10, 0.24, 0.60)),
    ("q = p", (0.42, 0.28, 0.18, 0.09, 0.03), (0.42, 0.28, 0.18, 0.09, 0.03)),
    ("q misses a token", (0.42, 0.28, 0.18, 0.09, 0.03), (0.0, 0.45, 0.27, 0.18, 0.10)),
)
OVERFLOWING = (1000.0, 999.0, 990.0)


def numbers() -> dict[str, Any]:
    """The step that the text tells of."""
    told = max(recorded_trials(), key=telling)
    return {"told": told, "draws": DRAWS, "trials": len(recorded_trials())}


def data() -> dict[str, Any]:
    """Distributions to begin with, and those of recorded steps."""
    return {
        "draws": DRAWS,
        "presets": [{"name": name, "p": p, "q": q} for name, p, q in PRESETS],
        "overflowing": OVERFLOWING,
        "recorded": sorted(recorded_trials(), key=telling, reverse=True)[:6],
        "question": _question(),
    }


@cache
def recorded_trials() -> list[dict[str, Any]]:
    """Every tried candidate of the recorded run, with its whole p and q.

    The run kept five tokens of each distribution (top-k 5), so its records hold all of p and q.
    """
    steps = recorded_run(RUN).steps
    return [_recorded(step, trial) for step in steps for trial in step.trials or ()]


def _recorded(step: Step, trial: Trial) -> dict[str, Any]:
    trace = recorded_run(RUN)
    shape = trace.trees[step.tree]
    parent, depth = shape.parents[trial.row], shape.depths[trial.row]
    wanted, offered = step.base_top[parent], (step.draft_top or [])[parent]
    tokens = list(dict.fromkeys([*wanted.ids, *offered.ids]))
    p, q = _probs(wanted, tokens), _probs(offered, tokens)
    candidate = step.token_ids[trial.row]
    return {
        "step": step.index,
        "depth": depth,
        "tokens": [label(trace, token) for token in tokens],
        "p": p,
        "q": q,
        "candidate": tokens.index(candidate),
        "name": label(trace, candidate),
        "chance": trial.chance,
        "coin": trial.coin,
        "accepted": trial.coin < trial.chance,
        "overlap": overlap(p, q),
        "next": label(trace, candidate if trial.coin < trial.chance else step.bonus or 0),
        "residual": residual_distribution(p, q),
    }


def _probs(top: TopTokens, tokens: Sequence[int]) -> list[float]:
    """The probabilities of some tokens; 0 where the distribution does not name them."""
    known = dict(zip(top.ids, top.probs, strict=True))
    return [known.get(token, 0.0) for token in tokens]


def telling(trial: dict[str, Any]) -> float:
    """How much a trial shows: p and q overlap in part, and the coin had something to decide."""
    chance, shared = trial["chance"], trial["overlap"]
    return min(shared, 1 - shared) + min(chance, 1 - chance)


def _question() -> dict[str, Any]:
    trial = max(recorded_trials(), key=telling)
    p, q = (trial[name][trial["candidate"]] for name in "pq")
    side = "below" if trial["accepted"] else "not below"
    return {
        "ask": f"Recorded step {trial['step'] + 1}: the head drew “{trial['name']}”, with q = "
        f"{q:.2f}; the base model gives it p = {p:.2f}. The coin, uniform between 0 and 1, came "
        f"out as {trial['coin']:.2f}. Is the guess accepted?",
        "options": ["Accepted", "Rejected: a token is drawn from the residual"],
        "right": 0 if trial["accepted"] else 1,
        "why": f"min(1, p/q) = {trial['chance']:.2f}, and the coin is {side} it. The step wrote "
        f"“{trial['next']}”.",
    }


def see() -> See:
    """The step that the question asks about."""
    trial = max(recorded_trials(), key=telling)
    return See(
        gallery_name(RUN), trial["step"] + 1, f"Its trial of “{trial['name']}”, with its coin."
    )


CHAPTER = Chapter("speculative_sampling", "Speculative sampling", numbers, data, see)
