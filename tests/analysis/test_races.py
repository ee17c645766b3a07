"""What a benchmark's races come to: means, spreads and differences, by hand."""

import numpy as np
import pytest

from explorer.analysis.races import (
    PromptFigures,
    categories,
    finished_race,
    geometric_half_width,
    geometric_mean,
    method_figures,
)
from explorer.analysis.speedup import Samples
from explorer.measuring.bench_races import _identical
from tests.trace_records import with_rival


def test_geometric_mean():
    assert geometric_mean([2.0, 0.5]) == pytest.approx(1.0)
    assert geometric_mean([9.0, 1.0]) == pytest.approx(3.0)
    assert geometric_mean([4.0, None]) == pytest.approx(4.0)
    assert geometric_mean([]) is None


def test_geometric_spread():
    # logarithms ±a: standard error a·√2/√2 = a, Student's t of one degree of freedom 12.706
    assert geometric_half_width([1.1, 1 / 1.1]) == pytest.approx(np.log(1.1) * 12.7062, rel=1e-4)
    assert geometric_half_width([1.3] * 5) == pytest.approx(0)
    assert geometric_half_width([1.3, None]) is None


def race(category, speedup, tokens_per_step=1.5):
    return PromptFigures(
        number=0,
        id="x",
        category=category,
        method="medusa",
        tokens=9,
        identical=True,
        tokens_per_step=tokens_per_step,
        tokens_per_second=10,
        plain_tokens_per_second=10,
        speedup=speedup,
        half_width=0.1,
    )


def test_categories_keep_their_own_means():
    found = categories([race("a", 2.0, 2.0), race("b", 0.9), race("a", 0.5, 1.0)])
    assert list(found) == ["a", "b"]
    assert found["a"].prompts == 2
    assert found["a"].speedup == pytest.approx(1.0)
    assert found["a"].tokens_per_step == pytest.approx(1.5)
    assert found["b"].speedup == pytest.approx(0.9)


def test_methods_pool_their_runs_and_average_their_speedups():
    runs = [
        Samples(np.array([2.0, 1.0]), np.array([30.0, 30.0])),
        Samples(np.array([3.0]), np.array([40.0])),
    ]
    found = method_figures(runs, [2.0, 0.5], None)
    assert found.tokens == 6
    assert found.tokens_per_second == pytest.approx(60)
    assert found.tokens_per_step == pytest.approx(2)
    assert found.step_ms == pytest.approx(100 / 3)
    assert found.speedup == pytest.approx(1)


def test_a_race_is_identical_only_if_all_tokens_are(make_trace, step):
    trace = with_rival(
        make_trace([1], [step(emitted=(1, 1), verify=30.0)]), [step(verify=20.0)] * 2
    )
    found = finished_race({"prompt": "x"}, 7, trace)
    assert found.figures.identical
    assert found.figures.id == "7"
    assert found.figures.speedup == pytest.approx((2 / 30) / (1 / 20))
    assert found.laps[0]["verify"] == 30
    assert found.figures.pass_ms is None  # too few to say anything
    shorter = with_rival(trace, [step(verify=20.0)])
    cut = finished_race({}, 0, shorter).figures
    assert not cut.identical
    assert (cut.difference.position, cut.difference.plain_token) == (1, None)
    assert cut.difference.method_token == trace.new_token_ids[1]
    assert found.figures.difference is None


def test_a_race_keeps_how_much_plains_passes_varied(make_trace, step):
    passes = [step(verify=20.0)] * 9 + [step(verify=60.0)] * 9
    found = finished_race({}, 0, with_rival(make_trace([1], [step(verify=30.0)]), passes))
    assert found.figures.pass_ms == [20.0, 60.0]


def test_a_prompt_is_identical_only_if_every_method_says_so(make_trace, step):
    trace = with_rival(make_trace([1], [step(verify=30.0)]), [step(verify=20.0)])
    same = finished_race({}, 0, trace)
    other = finished_race({}, 0, with_rival(trace, [step(verify=20.0)] * 2))
    races = {"medusa": [same, same, other], "lookahead": [same, other, other]}
    assert _identical(races) == 1
