"""What a comparison came to, in a sentence that its races bear.

"Fastest" is said of a method only after a paired test against plain decoding and against every
other method: the same prompts, each method's speedup over the plain lane of its own race. The
method that is tested is the one that came first, which is the likeliest to have been lucky; so its
p-values are multiplied by the number of methods that could have come first (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import ttest_1samp

from explorer.analysis.race_reason import UNRELIABLE, busy_sentence, is_busy
from explorer.analysis.races import PromptFigures, geometric_half_width, geometric_mean

LEVEL = 0.05  # a p-value below it counts as a difference
TOO_SHORT = "The replies are too short to time: ask for more new tokens."


@dataclass(frozen=True)
class _Lane:
    """A method's speedups over plain decoding by the number of the prompt."""

    name: str
    speedups: Mapping[int, float]

    @property
    def typical(self) -> float:
        return geometric_mean(self.speedups.values()) or 0.0

    def __str__(self) -> str:
        half_width = geometric_half_width(self.speedups.values())
        sure = "" if half_width is None else f" ± {half_width:.2f}"
        return f"{self.name} at {self.typical:.2f}×{sure}"


def headline(races: Iterable[PromptFigures]) -> str:
    """Which method was the fastest, if one was; empty without races."""
    races = list(races)
    lanes = _lanes(races)
    if not lanes:
        return ""
    if not any(lane.speedups for lane in lanes):
        return TOO_SHORT
    if busy := busy_words(races):
        return busy
    best, *others = sorted(lanes, key=lambda lane: -lane.typical)
    prompts = len(best.speedups)
    if prompts == 1:
        return f"One prompt decides nothing; on this one {best} plain decoding came first."
    over = f"over {prompts} prompts"
    chance = _corrected(p_value(np.log(list(best.speedups.values()))), len(lanes))
    if best.typical <= 1:
        return f"No method beat plain decoding {over}: closest was {best}."
    if chance >= LEVEL:
        return (
            f"No method is clearly faster than plain decoding {over}: {best} comes first, which "
            f"may be chance (p = {chance:.2f})."
        )
    return f"{_beside(best, others)} {over}: {_figures(best, others)}."


def busy_words(races: Iterable[PromptFigures]) -> str:
    """That the machine was busy, in a sentence; empty where at most half of the prompts say so.

    The plain lanes of a prompt's races are one text's passes of one row: where the slow ones took
    more than twice as long as the quick ones, within a race or between two, something else ran.
    """
    times: dict[int, list[list[float]]] = {}
    for race in races:
        times.setdefault(race.number, []).extend([race.pass_ms] if race.pass_ms else [])
    ranges = [(min(q for q, _ in some), max(s for _, s in some)) for some in times.values() if some]
    busy = [one for one in ranges if is_busy(*one)]
    if 2 * len(busy) <= len(times):
        return ""
    worst = max(busy, key=lambda one: one[1] / one[0])
    text = busy_sentence("plain decoding", *worst)
    where = "" if len(times) == 1 else f" on {len(busy)} of {len(times)} prompts"
    return f"{UNRELIABLE.capitalize()}{where}. {text}"


def p_value(logs: Sequence[float] | np.ndarray) -> float:
    """Two-sided p of a mean of 0, from Student's t; 1 where the values say nothing."""
    values = np.asarray(logs, dtype=float)
    if len(values) < 2:
        return 1.0
    if np.ptp(values) == 0:  # no scatter: Student's t is not defined
        return 1.0 if values[0] == 0 else 0.0
    chance: Any = ttest_1samp(values, 0.0)[1]  # scipy's stubs do not know what it is
    return float(chance)


def _beside(best: _Lane, others: Sequence[_Lane]) -> str:
    """The subject of the sentence: one fastest method, or those with no clear difference."""
    level = [lane.name for lane in others if _between(best, lane, len(others)) >= LEVEL]
    if not level:
        return f"{best.name} is the fastest"
    return f"{best.name} is faster than plain decoding, not clearly than {' or '.join(level)},"


def _figures(best: _Lane, others: Sequence[_Lane]) -> str:
    text = f"{best} plain"
    if not others:
        return text
    chance = _between(best, others[0], len(others))
    return (
        f"{text}, then {others[0]} (paired t-test of {best.name} against {others[0].name}: "
        f"p = {chance:.2g})"
    )


def _between(one: _Lane, other: _Lane, tests: int) -> float:
    """p of no difference between two methods, prompt by prompt, as one of several tests."""
    both = one.speedups.keys() & other.speedups.keys()
    logs = [np.log(one.speedups[i] / other.speedups[i]) for i in sorted(both)]
    return _corrected(p_value(logs), tests)


def _corrected(chance: float, tests: int) -> float:
    """A p-value as one of several tests (Bonferroni)."""
    return min(1.0, tests * chance)


def _lanes(races: Iterable[PromptFigures]) -> list[_Lane]:
    found: dict[str, dict[int, float]] = {}
    for race in races:
        lane = found.setdefault(race.method, {})
        if race.speedup:
            lane[race.number] = race.speedup
    return [_Lane(name, speedups) for name, speedups in found.items()]
