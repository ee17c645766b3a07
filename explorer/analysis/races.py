"""The races of a benchmark: the record of each, and sums and means over them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

import numpy as np
from pydantic import BaseModel as Schema
from pydantic import ConfigDict, Field, computed_field
from scipy.special import stdtrit

from explorer.analysis.joint_counts import rank_rows
from explorer.analysis.predictions import Shape, StepFacts, step_facts
from explorer.analysis.race_reason import spread
from explorer.analysis.shares import Shares
from explorer.analysis.speedup import (
    DepthAcceptance,
    Samples,
    acceptance_by_depth,
    compare,
    lane_figures,
)
from explorer.records.piece import shortened
from explorer.records.prompts import Prompt
from explorer.records.schema import Trace
from explorer.records.step_facts import StepFacts as PassFacts

LONGEST = 24  # characters shown of a token


class Difference(Schema):
    """The first difference of a method's tokens from plain's; an ended text has no token there.

    `position` counts the new tokens from 0. `verdict` and `explanation` are the audit's, if it
    examined this difference (measuring/audit.py).
    """

    model_config = ConfigDict(frozen=True)

    position: int
    plain_token: int | None
    plain_text: str | None
    method_token: int | None
    method_text: str | None
    verdict: Literal["tie", "divergence"] | None = None
    explanation: str | None = None


class PromptFigures(Schema):
    """One race: a prompt decoded by one method and by plain decoding.

    `number` is the prompt's place, from 0: ids may repeat. `difference` is None where both wrote
    the same tokens. `pass_ms` are the quickest and the slowest tenth of plain's own passes, in
    milliseconds; None in older reports, and where there were too few.
    """

    model_config = ConfigDict(frozen=True)

    number: int
    id: str
    category: str
    method: str
    tokens: int
    identical: bool
    tokens_per_step: float | None
    tokens_per_second: float | None
    plain_tokens_per_second: float | None
    speedup: float | None
    half_width: float | None
    pass_ms: list[float] | None = Field(default=None, min_length=2, max_length=2)
    difference: Difference | None = None

    @computed_field
    @property
    def clearly_faster(self) -> bool:
        """Whether the method was faster than plain by more than the interval's half-width."""
        if self.speedup is None or self.half_width is None:
            return False
        return self.speedup - self.half_width > 1


class MethodFigures(Schema):
    """All runs of one method. Seconds are its own steps', without prefill and recording.

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
    """One method's races of one category of prompts; `half_width` as in BenchReport."""

    model_config = ConfigDict(frozen=True)

    prompts: int
    speedup: float | None
    half_width: float | None
    tokens_per_step: float | None


@dataclass(frozen=True)
class Race:
    """The record of one finished race; `laps` are the speculative steps' times by part.

    `facts` and `shapes` (how often each tree was used) are of the steps that had a verify pass.
    `ranks`: see joint_counts.rank_rows. `texts` are the token ids of the prompt, of plain's reply
    and of the method's.
    """

    figures: PromptFigures
    fast: Samples
    plain: Samples
    laps: list[dict[str, float]]
    facts: list[StepFacts]
    acceptance: list[DepthAcceptance]
    shapes: Counter[Shape]
    ranks: np.ndarray
    texts: tuple[list[int], list[int], list[int]]


def finished_race(record: Prompt, number: int, trace: Trace) -> Race:
    """The figures of a race against plain; `number` names a prompt that has no id."""
    assert trace.rival is not None  # the plain lane
    fast, plain = Samples.of_lane(trace), Samples.of_lane(trace.rival)
    figures = compare(fast, plain)
    expected, got = trace.rival.new_token_ids, trace.new_token_ids
    verified = [step for step in trace.steps if step.timings.verify > 0]
    quick, slow = spread(PassFacts.of_lane(trace.rival))
    summary = PromptFigures(
        number=number,
        id=str(record.get("id", number)),
        category=record.get("category", ""),
        method=trace.header.settings.method,
        tokens=len(got),
        identical=got == expected,
        tokens_per_step=figures.lane.tokens_per_step,
        tokens_per_second=figures.lane.tokens_per_second,
        plain_tokens_per_second=figures.rival.tokens_per_second,
        speedup=figures.speedup,
        half_width=figures.half_width,
        pass_ms=[quick, slow] if slow else None,
        difference=_difference(trace, expected, got),
    )
    return Race(
        figures=summary,
        fast=fast,
        plain=plain,
        laps=[step.timings.model_dump() for step in trace.steps],
        facts=[step_facts(step, trace.trees) for step in verified],
        acceptance=acceptance_by_depth(trace.steps, trace.trees),
        shapes=Counter(tuple(map(tuple, trace.trees[step.tree].paths)) for step in verified),
        ranks=rank_rows(trace),
        texts=(trace.header.prompt_ids, expected, got),
    )


def _difference(trace: Trace, expected: Sequence[int], got: Sequence[int]) -> Difference | None:
    at = first_difference(expected, got)
    if at is None:
        return None
    ours, theirs = (ids[at] if at < len(ids) else None for ids in (expected, got))
    pieces = [None if t is None else trace.pieces.get(t) for t in (ours, theirs)]
    labels = [None if piece is None else shortened(piece.label, LONGEST) for piece in pieces]
    return Difference(
        position=at,
        plain_token=ours,
        plain_text=labels[0],
        method_token=theirs,
        method_text=labels[1],
    )


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
            half_width=geometric_half_width(race.speedup for race in group),
            tokens_per_step=_mean(race.tokens_per_step for race in group),
        )
        for name, group in groups.items()
    }


def geometric_mean(values: Iterable[float | None]) -> float | None:
    """exp of the mean logarithm of the positive values; None if there are none."""
    logs = [math.log(value) for value in values if value]
    return math.exp(sum(logs) / len(logs)) if logs else None


def geometric_half_width(values: Iterable[float | None]) -> float | None:
    """Half-width of the 95 % interval of the geometric mean; None for fewer than two values."""
    logs = np.log([value for value in values if value])
    if len(logs) < 2:
        return None
    error = logs.std(ddof=1) / math.sqrt(len(logs))
    return float(np.exp(logs.mean()) * stdtrit(len(logs) - 1, 0.975) * error)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def first_difference(a: Sequence[int], b: Sequence[int]) -> int | None:
    """Index of the first element that differs, or that only one has; None for equal sequences."""
    for index, (x, y) in enumerate(zip_longest(a, b)):
        if x != y:
            return index
    return None
