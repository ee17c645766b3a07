"""The sentences of a comparison say what its figures bear."""

from __future__ import annotations

import pytest

from explorer.analysis.compared import (
    ALL,
    curve_sentence,
    evidence_sentences,
    predictions_sentence,
)
from explorer.analysis.cost_curve import CostCurve
from explorer.analysis.predictions import Prediction
from explorer.analysis.races import Difference, PromptFigures
from explorer.measuring.bench_report import verdict


def race(number: int, method: str, verdict: str | None = "same") -> PromptFigures:
    """One race; a `verdict` other than "same" is of a text that differs."""
    difference = None
    if verdict != "same":
        difference = Difference(
            position=3, plain_token=1, plain_text="a", method_token=2, method_text="b",
            verdict=verdict,
        )  # fmt: skip
    return PromptFigures(
        number=number, id=str(number), category="", method=method, tokens=9,
        identical=difference is None, tokens_per_step=1.0, tokens_per_second=1.0,
        plain_tokens_per_second=1.0, speedup=1.0, half_width=None, difference=difference,
    )  # fmt: skip


def evidence(*races: PromptFigures) -> dict[str, str]:
    return evidence_sentences(races, 2, "int4", "cpu")


def test_the_same_tokens_are_said_of_all_and_of_each():
    found = evidence(*(race(n, name) for n in range(2) for name in ("medusa", "hydra")))
    assert found[ALL].startswith("On all 2 prompts, every method wrote exactly the token ids")
    assert found["hydra"].startswith("On all 2 prompts, hydra wrote")
    assert found["hydra"].endswith("(int4 on cpu).")


def test_one_method_alone_is_named():
    assert "medusa wrote exactly" in evidence(race(0, "medusa"), race(1, "medusa"))[ALL]


def test_differences_are_counted_by_what_explains_them():
    found = evidence(
        race(0, "medusa", "tie"), race(1, "medusa", "divergence"),
        race(0, "hydra"), race(1, "hydra", None),
    )  # fmt: skip
    assert found[ALL].startswith(
        "3 of 4 texts differ from plain's: 1 numerical tie, 1 divergence. `python -m explorer audit"
    )
    assert found["hydra"].startswith("1 of 2 texts differ from plain's. `")
    assert "--method hydra`" in found["hydra"]


def test_without_races_there_is_no_evidence():
    assert evidence() == {}


def test_the_curve_gives_every_width_but_the_first():
    curve = CostCurve(
        context_length=128, rounds=5, one_row_ms=20.04, rows=[1, 2, 4],
        milliseconds=[20, 21, 24], ratios=[1, 1.05, 1.2],
    )  # fmt: skip
    assert "one row 20.0 ms · C(2) 1.05 · C(4) 1.20 · at a context of 128" in curve_sentence(curve)


def prediction(product: float | None, measured: float) -> Prediction:
    return Prediction(
        chain=False, alpha=0.5, drafted=2, rows=5, cost=1.2, draft=0.1, rest=0.1,
        tokens_per_step=measured, product=product, speedup_idealised=1.5, speedup_at_cost=1.2,
        pays_as_published=False, pays_corrected=True, measured_tokens_per_step=measured,
        measured_speedup=1.25, error_idealised=0.2, error_at_cost=-0.04,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("product", "says"),
    [
        (1.5, "expect 1.50 tokens per step, and 1.75 were measured, a difference of 0.25."),
        (1.75, "expect 1.75 tokens per step, and 1.75 were measured."),
    ],
)
def test_the_product_of_accuracies_is_of_the_first_method_with_heads(product, says):
    found = predictions_sentence(
        {"lookahead": prediction(None, 1.2), "medusa": prediction(product, 1.75)}
    )
    assert says in found
    assert "For medusa" in found


def test_without_heads_there_is_no_product():
    assert "products" not in predictions_sentence({"lookahead": prediction(None, 1.2)})


def test_a_rule_that_the_measurement_contradicts_is_wrong():
    found = prediction(None, 1.75)
    assert found.published_is_wrong
    assert not found.corrected_is_wrong


@pytest.mark.parametrize(
    ("speedup", "half_width", "expected"),
    [(1.2, 0.1, "fast"), (0.8, 0.1, "slow"), (1.05, 0.1, "even"), (1.5, None, "even")],
)
def test_a_method_is_faster_only_by_more_than_the_interval(speedup, half_width, expected):
    assert verdict(speedup, half_width) == expected
