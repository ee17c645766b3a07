"""Chapter 3: a guess is kept or redrawn so that the text keeps the base model's distribution."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from explorer.analysis.formulas import overlap, residual_distribution
from explorer.learn.chapter import Chapter, Own, See, Shown
from explorer.learn.recorded_runs import OWN, RECORDED, gallery_name, label, recorded_run
from explorer.records.errors import ExplorerError
from explorer.records.schema import Trace
from explorer.records.step import Step, TopTokens, Trial

RUN = "sampling"
# With five tokens to choose from, a record holds all of p and q.
SETTINGS = {
    "candidates": "drawn",
    "temperature": 0.8,
    "top_k": 5,
    "tree": "chain:3",
    "max_new_tokens": 48,
}
OFFERED = 6  # trials to choose from
WHOLE = 1e-4  # what may be missing of a distribution that is whole
DRAWS = 10_000
PRESETS = (
    ("a fair guess", (0.42, 0.28, 0.18, 0.09, 0.03), (0.30, 0.36, 0.08, 0.16, 0.10)),
    ("a poor guess", (0.42, 0.28, 0.18, 0.09, 0.03), (0.02, 0.04, 0.10, 0.24, 0.60)),
    ("q = p", (0.42, 0.28, 0.18, 0.09, 0.03), (0.42, 0.28, 0.18, 0.09, 0.03)),
    ("q misses a token", (0.42, 0.28, 0.18, 0.09, 0.03), (0.0, 0.45, 0.27, 0.18, 0.10)),
)
OVERFLOWING = (1000.0, 999.0, 990.0)


def numbers() -> dict[str, Any]:
    """The step that the text is about."""
    example = max(recorded_trials(), key=telling)
    return {"example": example, "draws": DRAWS, "trials": len(recorded_trials())}


def data() -> dict[str, Any]:
    """Distributions to begin with, and those of recorded steps."""
    return {
        "draws": DRAWS,
        "presets": [{"name": name, "p": p, "q": q} for name, p, q in PRESETS],
        "overflowing": OVERFLOWING,
        **_data_of(recorded_trials(), RECORDED),
    }


def _data_of(trials: Sequence[dict[str, Any]], whose: str) -> dict[str, Any]:
    best = sorted(trials, key=telling, reverse=True)
    # Of one's own run the best is on view at once, with its coin.
    asked = best[1:2] or best if whose == OWN else best
    return {"whose": whose, "trials": best[:OFFERED], "question": _question(asked[0], whose)}


@cache
def recorded_trials() -> list[dict[str, Any]]:
    """Every tried candidate of the recorded run, with its whole p and q."""
    return trials_of(recorded_run(RUN))


def trials_of(trace: Trace) -> list[dict[str, Any]]:
    """Every tried candidate of a run, with its p and q, where the records hold all of both.

    They do where no more tokens are left to draw from than a record keeps, say with top-k 5.
    A candidate after a rejected sibling is left out: p and q are no longer those of the row.
    """
    tried = [(step, trial) for step in trace.steps for trial in step.trials or ()]
    found = [_tried(trace, *each) for each in tried if each[0].draft_top]
    return [one for one in found if _whole(one)]


def _whole(tried: dict[str, Any]) -> bool:
    at = tried["candidate"]
    missing = [1 - sum(tried["p"]), 1 - sum(tried["q"])]
    missing += [tried["p"][at] - tried["tried"][0], tried["q"][at] - tried["tried"][1]]
    return all(abs(gap) < WHOLE for gap in missing)


def _tried(trace: Trace, step: Step, trial: Trial) -> dict[str, Any]:
    shape = trace.trees[step.tree]
    parent, depth = shape.parents[trial.row], shape.depths[trial.row]
    wanted, offered = step.base_top[parent], (step.draft_top or [])[parent]
    candidate = step.token_ids[trial.row]
    tokens = list(dict.fromkeys([*wanted.ids, *offered.ids, candidate]))
    p, q = _probs(wanted, tokens), _probs(offered, tokens)
    return {
        "step": step.index,
        "depth": depth,
        "tokens": [label(trace, token) for token in tokens],
        "p": p,
        "q": q,
        "candidate": tokens.index(candidate),
        "name": label(trace, candidate),
        "tried": (trial.p, trial.q),
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


def _question(trial: dict[str, Any], whose: str) -> dict[str, Any]:
    p, q = (trial[name][trial["candidate"]] for name in "pq")
    side = "below" if trial["accepted"] else "not below"
    return {
        "ask": f"Step {trial['step'] + 1} of {whose}: “{trial['name']}” was drawn, with q = "
        f"{q:.2f}; the base model gives it p = {p:.2f}. The coin, uniform between 0 and 1, came "
        f"out as {trial['coin']:.2f}. Is the guess accepted?",
        "options": ["Accepted", "Rejected: a token is drawn from the residual"],
        "right": 0 if trial["accepted"] else 1,
        "why": f"min(1, p/q) = {trial['chance']:.2f}, and the coin is {side} it. The step wrote "
        f"“{trial['next']}”.",
    }


def own(trace: Trace) -> Shown:
    """The same of another run. Raises ExplorerError where no coin was thrown over whole p and q."""
    trials = trials_of(trace)
    if not trials:
        raise ExplorerError(
            "Your last run has no guess with a coin whose whole p and q are recorded (that takes "
            "drawn candidates and top-k 5): run a prompt of your own here."
        )
    shown = _data_of(trials, OWN)
    return Shown(shown, shown["trials"][0]["step"] + 1)


def see() -> See:
    """The step that the question asks about."""
    trial = max(recorded_trials(), key=telling)
    return See(
        gallery_name(RUN), trial["step"] + 1, f"Its trial of “{trial['name']}”, with its coin."
    )


CHAPTER = Chapter(
    "speculative_sampling", "Speculative sampling", numbers, data, see, Own(SETTINGS, own)
)
