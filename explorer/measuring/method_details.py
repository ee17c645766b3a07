"""Details of each method in a benchmark, besides its speed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pydantic import BaseModel as Schema
from pydantic import ConfigDict

from explorer.analysis.cost_curve import CostCurve
from explorer.analysis.predictions import (
    Prediction,
    pooled,
    predict,
    product_tokens_per_step,
)
from explorer.analysis.races import CategoryFigures, Race, categories, geometric_half_width, joined
from explorer.analysis.speedup import lane_figures
from explorer.measuring.memory import ExtraMemory
from explorer.records.figures import LaneFigures
from explorer.records.methods import METHODS


class DepthFigures(Schema):
    """Of the steps that reached a depth: how many accepted a node there."""

    model_config = ConfigDict(frozen=True)

    depth: int
    accepted: int
    first_rejections: int
    rate: float | None


class MethodDetails(Schema):
    """One method over all prompts.

    `plain_tokens_per_second` is of the plain lanes of its own races, and `total_speedup` the
    method's over it: the time saved on all prompts together. `half_width` is that of the 95 %
    interval over prompts of the other speedup, that of the typical prompt. `emitted_per_step`
    counts steps by the tokens they emitted. `identical_prompts` counts those on which this run
    wrote plain decoding's text.
    """

    model_config = ConfigDict(frozen=True)

    explanation: str
    identical_prompts: int
    plain_tokens_per_second: float | None
    total_speedup: float | None = None
    half_width: float | None
    acceptance: list[DepthFigures]
    emitted_per_step: dict[int, int]
    per_category: dict[str, CategoryFigures]
    memory: ExtraMemory | None
    prediction: Prediction | None


def method_details(
    name: str, races: Sequence[Race], memory: ExtraMemory | None, curve: CostCurve | None
) -> MethodDetails:
    """The details of a method from its races; without a cost curve there is no prediction."""
    facts = [fact for race in races for fact in race.facts]
    acceptance = pooled([race.acceptance for race in races])
    plain = lane_figures(joined([race.plain for race in races]))
    plain_ms = 1000 * plain.seconds / plain.steps if plain.steps else 0.0
    figures = [race.figures for race in races]
    shapes = sum((race.shapes for race in races), Counter())
    product = product_tokens_per_step([race.ranks for race in races], shapes)
    return MethodDetails(
        explanation=METHODS[name].explanation,
        identical_prompts=sum(race.identical for race in figures),
        plain_tokens_per_second=plain.tokens_per_second,
        total_speedup=_ratio(lane_figures(joined([race.fast for race in races])), plain),
        half_width=geometric_half_width(race.speedup for race in figures),
        acceptance=[DepthFigures(**vars(depth)) for depth in acceptance],
        emitted_per_step=dict(sorted(Counter(fact.emitted for fact in facts).items())),
        per_category=categories(figures),
        memory=memory,
        prediction=predict(facts, acceptance, plain_ms, curve, product) if curve else None,
    )


def _ratio(ours: LaneFigures, plain: LaneFigures) -> float | None:
    if ours.tokens_per_second is None or not plain.tokens_per_second:
        return None
    return ours.tokens_per_second / plain.tokens_per_second
