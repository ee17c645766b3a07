"""What a comparison found, in sentences: costs, predictions, and whether the tokens are plain's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from explorer.analysis.cost_curve import CostCurve
from explorer.analysis.predictions import Prediction
from explorer.analysis.races import PromptFigures
from explorer.records.numbers import plural, ratio

AUDIT = "python -m explorer audit --prompts FILE.jsonl --method"
ALL = ""  # the evidence on all methods together
ABOUT_PREDICTIONS = (
    "C(n) was measured at one context length; at a longer one it is different. S and S′ are "
    "estimates; the small figures after them are their errors against the measured speedup in the "
    "same row: of all steps that had a pass, taken together. (The table above is the mean over "
    "prompts, and counts every token.)"
)
TWO_EFFECTS = (
    "Two effects of opposite sign are in it, which this run does not separate: heads that are "
    "right tend to be right together, and steps start where the last draft failed, at harder "
    "positions."
)


def curve_sentence(curve: CostCurve) -> str:
    """A cost curve in a line: the time of one row, and C(n) of each other width."""
    costs = " · ".join(
        f"C({n}) {ratio(cost)}" for n, cost in zip(curve.rows[1:], curve.ratios[1:], strict=True)
    )
    return (
        f"estimates from measured inputs · one row {curve.one_row_ms:.1f} ms · {costs} · at a "
        f"context of {curve.context_length} tokens"
    )


def predictions_sentence(predictions: Mapping[str, Prediction]) -> str:
    """How to read the predictions by method, and how far off the product of accuracies is."""
    for method, found in predictions.items():
        if found.product is not None:
            return f"{ABOUT_PREDICTIONS} {_product(method, found.product, found)} {TWO_EFFECTS}"
    return ABOUT_PREDICTIONS


def _product(method: str, product: float, found: Prediction) -> str:
    measured = found.measured_tokens_per_step
    differ = f", a difference of {ratio(abs(product - measured))}"
    return (
        f"For {method}, products of single heads' accuracies expect {ratio(product)} tokens per "
        f"step, and {ratio(measured)} were measured"
        f"{'' if ratio(product) == ratio(measured) else differ}."
    )


def evidence_sentences(
    races: Sequence[PromptFigures], prompts: int, backend: str, device: str
) -> dict[str, str]:
    """Whether each method wrote plain's tokens, by method, and of all methods together (`ALL`)."""
    methods = list(dict.fromkeys(race.method for race in races))
    if not methods:
        return {}
    where = f"({backend} on {device})"
    return {ALL: _evidence(races, methods, prompts, where)} | {
        method: _evidence(
            [race for race in races if race.method == method], [method], prompts, where
        )
        for method in methods
    }


def _evidence(
    races: Sequence[PromptFigures], methods: Sequence[str], prompts: int, where: str
) -> str:
    differences = [race.difference for race in races if not race.identical]
    if not differences:
        who = methods[0] if len(methods) == 1 else "every method"
        those = "the one prompt" if prompts == 1 else f"all {prompts} prompts"
        return f"On {those}, {who} wrote exactly the token ids of plain decoding {where}."
    verdicts = [found.verdict for found in differences if found is not None]
    kinds = {"numerical tie": verdicts.count("tie"), "divergence": verdicts.count("divergence")}
    found = ", ".join(plural(times, kind) for kind, times in kinds.items() if times)
    differ = f"{len(differences)} of {plural(len(races), 'text')} differ from plain's"
    looks = f"`{AUDIT} {methods[0]}` examines every difference."
    return f"{differ}{f': {found}' if found else ''}. {looks}"
