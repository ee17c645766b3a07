"""A draft that does not fit: its figures follow from records."""

import json

import pytest

from explorer.analysis.formulas import expected_tokens
from explorer.learn.draft_and_verify import drafts
from explorer.learn.draft_fit import COUNTED, TIMED, data, fits, step_cost, timed_speedup
from explorer.learn.recorded_comparison import COMPARED


def test_timed_fits_are_the_recorded_comparison():
    details = json.loads(COMPARED.read_text(encoding="utf-8"))["details"]["draft-model"]
    timed = {fit.name: fit.speedup for fit in fits(drafts()) if fit.source == TIMED}
    expected = {
        f"one prompt: {name}": one["speedup"] for name, one in details["per_category"].items()
    }
    assert timed == expected
    assert timed_speedup()["half_width"] == details["half_width"]


def test_counted_fits_are_tokens_over_the_cost_of_a_step():
    counted = [fit for fit in fits(drafts()) if fit.source == COUNTED]
    assert any(fit.name.startswith("temperature") for fit in counted)
    *trained, untrained = counted
    for fit in trained:
        assert fit.speedup * step_cost() == pytest.approx(fit.tokens_per_step)
    assert untrained.speedup < min(fit.speedup for fit in trained)


def test_break_even_is_where_tokens_pay_for_the_step():
    picture = data(drafts())
    tokens = expected_tokens(picture["break_even"], drafts()["draft_tokens"])
    assert tokens == pytest.approx(picture["step_cost"])
