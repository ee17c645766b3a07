"""What a benchmark found: plain records, and the sums and means that lead from runs to them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import BaseModel as Schema
from pydantic import ConfigDict
from scipy.stats import t as student_t

from explorer.analysis.cost_curve import CostCurve
from explorer.analysis.overhead import Overhead, Shares
from explorer.analysis.reference import Reference
from explorer.analysis.speedup import Samples, compare, lane_figures
from explorer.tracing.schema import Trace

PLAIN = "plain"


class PromptFigures(Schema):
    """One race: a prompt decoded by one method and by plain decoding."""

    model_config = ConfigDict(frozen=True)

    id: str
    category: str
    method: str
    tokens: int
    identical: bool
    tokens_per_step: float | None
    tokens_per_second: float | None
    plain_tokens_per_second: float | None
    speedup: float | None
    spread: float | None


class MethodFigures(Schema):
    """All runs of one method together. Seconds are its own steps', without prefill and recording.

    `speedup` is the geometric mean over prompts, None for plain. `shares` says where a step's
    time goes.
    """

    model_config = ConfigDict(frozen=True)

    tokens: int
    steps: int
    seconds: float
    tokens_per_second: float | None
    tokens_per_step: float | None
    step_ms: float | None
    speedup: float | None
    shares: Shares | None


class CategoryFigures(Schema):
    """The main method's races of one category of prompts."""

    model_config = ConfigDict(frozen=True)

    prompts: int
    speedup: float | None
    tokens_per_step: float | None


class BenchReport(Schema):
    """The whole benchmark. `speedup` and `per_category` are the main method's over plain.

    `speedup` is the geometric mean over prompts and `spread` the half-width of its 95 % interval,
    which says how far it would move with other prompts of the kind.
    """

    model_config = ConfigDict(frozen=True)

    model: str
    heads: str | None
    backend: str
    device: str
    main_method: str | None
    max_new_tokens: int
    prompts: int
    identical_prompts: int
    speedup: float | None
    spread: float | None
    methods: dict[str, MethodFigures]
    per_category: dict[str, CategoryFigures]
    overhead: list[Overhead]
    cost_curve: CostCurve | None
    reference: Reference | None
    plain_over_generate: float | None
    races: list[PromptFigures]
    sentence: str


@dataclass(frozen=True)
class Race:
    """What is kept of one finished race; `laps` are the speculative steps' times by part."""

    figures: PromptFigures
    fast: Samples
    plain: Samples
    laps: list[dict[str, float]]


def finished_race(record: dict[str, str], number: int, trace: Trace) -> Race:
    """The figures of a race from its trace; `number` names a prompt that has no id."""
    fast, plain = Samples.of_steps(trace.steps), Samples.of_plain(trace.plain)
    figures = compare(fast, plain)
    summary = PromptFigures(
        id=str(record.get("id", number)),
        category=record.get("category", ""),
        method=trace.header.settings.method,
        tokens=len(trace.new_token_ids),
        identical=trace.new_token_ids == [token.token_id for token in trace.plain],
        tokens_per_step=figures.tokens_per_step,
        tokens_per_second=figures.medusa_tps,
        plain_tokens_per_second=figures.plain_tps,
        speedup=figures.speedup,
        spread=figures.spread,
    )
    return Race(summary, fast, plain, [step.timings.model_dump() for step in trace.steps])


def method_figures(
    runs: Sequence[Samples], speedups: Iterable[float | None], where: Shares | None
) -> MethodFigures:
    """One method's figures from the samples of all its runs."""
    lane = lane_figures(joined(runs))
    return MethodFigures(
        tokens=lane.tokens,
        steps=lane.steps,
        seconds=lane.seconds,
        tokens_per_second=lane.tokens_per_second,
        tokens_per_step=lane.tokens_per_step,
        step_ms=1000 * lane.seconds / lane.steps if lane.steps else None,
        speedup=geometric_mean(speedups),
        shares=where,
    )


def joined(runs: Sequence[Samples]) -> Samples:
    """The samples of several runs as those of one."""
    if not runs:
        return Samples(np.empty(0), np.empty(0))
    return Samples(
        np.concatenate([run.tokens for run in runs]),
        np.concatenate([run.milliseconds for run in runs]),
    )


def categories(races: Sequence[PromptFigures]) -> dict[str, CategoryFigures]:
    """Geometric mean speedup and mean tokens per step of each category, in order of appearance."""
    groups: dict[str, list[PromptFigures]] = {}
    for race in races:
        groups.setdefault(race.category, []).append(race)
    return {
        name: CategoryFigures(
            prompts=len(group),
            speedup=geometric_mean(race.speedup for race in group),
            tokens_per_step=_mean(race.tokens_per_step for race in group),
        )
        for name, group in groups.items()
    }


def geometric_mean(values: Iterable[float | None]) -> float | None:
    """exp of the mean logarithm of the positive values; None where there are none."""
    logs = [math.log(value) for value in values if value]
    return math.exp(sum(logs) / len(logs)) if logs else None


def geometric_spread(values: Iterable[float | None]) -> float | None:
    """Half-width of the 95 % interval of the geometric mean; None for fewer than two values."""
    logs = np.log([value for value in values if value])
    if len(logs) < 2:
        return None
    error = logs.std(ddof=1) / math.sqrt(len(logs))
    return float(np.exp(logs.mean()) * student_t.ppf(0.975, len(logs) - 1) * error)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def verdict_sentence(
    method: str | None, methods: dict[str, MethodFigures], spread: float | None
) -> str:
    """Whether speculation pays on this machine, with the figures that say so.

    `spread` is the half-width of the speedup's 95 % interval: within it nothing is claimed.
    """
    ours, plain = methods.get(method or ""), methods.get(PLAIN)
    if ours is None or plain is None or ours.speedup is None:
        return "No speculative method was measured, so this run cannot say whether one pays."
    needed = ours.step_ms / plain.step_ms
    facts = (
        f"{ours.tokens_per_second:.1f} against {plain.tokens_per_second:.1f} tokens/s; "
        f"{ours.tokens_per_step:.2f} tokens per step, and it pays from {needed:.2f}"
    )
    runs = f"{method} runs at {ours.speedup:.2f}× plain"
    if spread is not None and abs(ours.speedup - 1) < spread:
        runs += f", ± {spread:.2f}"
        pays = "neither pays nor costs much"
    else:
        pays = "pays" if ours.speedup > 1 else "does not pay"
    return f"Speculation {pays} on this machine: {runs} ({facts})."
