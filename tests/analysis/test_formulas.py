"""Worked examples, by hand and against brute force."""

import itertools
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.analysis import formulas as f


def test_expected_tokens_by_hand():
    # α = 0.8, K = 4: 1 + 0.8 + 0.64 + 0.512 + 0.4096
    assert f.expected_tokens(0.8, 4) == pytest.approx(3.3616)
    assert f.expected_tokens(0.0, 4) == 1.0
    assert f.expected_tokens(0.5, 0) == 1.0


def test_expected_tokens_at_one_is_all_of_them():
    assert f.expected_tokens(1.0, 5) == 6.0
    assert f.expected_tokens(1 - 1e-15, 5) == pytest.approx(6.0)


@given(st.floats(0, 0.99), st.integers(0, 30))
def test_expected_tokens_equals_the_printed_quotient(alpha, k):
    assert f.expected_tokens(alpha, k) == pytest.approx((1 - alpha ** (k + 1)) / (1 - alpha))


def test_expected_tokens_is_what_a_simulation_gives():
    rng = random.Random(1)
    total = 0
    for _ in range(50_000):
        accepted = 0
        while accepted < 3 and rng.random() < 0.7:
            accepted += 1
        total += accepted + 1
    assert total / 50_000 == pytest.approx(f.expected_tokens(0.7, 3), rel=0.01)


def test_idealised_speedup_by_hand():
    # E(0.8, 4) = 3.3616; a draft of a tenth of the target's time: 3.3616 / 1.4
    assert f.idealised_speedup(0.8, 4, 0.1) == pytest.approx(2.4011, abs=1e-4)


def test_the_measured_cost_lowers_the_speedup():
    # five rows at 1.5 times one row: 3.3616 / 1.9
    assert f.speedup_at_cost(0.8, 4, 0.1, cost=1.5) == pytest.approx(1.7693, abs=1e-4)
    assert f.speedup_at_cost(0.8, 4, 0.1, cost=1.0) == f.idealised_speedup(0.8, 4, 0.1)


def test_a_bad_draft_is_slower_than_plain():
    assert f.idealised_speedup(0.35, 5, 0.2) < 1


def test_break_even_acceptance_by_hand():
    assert f.break_even_acceptance(1, 1.4) == pytest.approx(0.4)  # E = 1 + α
    assert f.break_even_acceptance(2, 1.75) == pytest.approx(0.5)  # E = 1 + α + α²
    assert f.break_even_acceptance(3, 1.0) == 0.0
    assert f.break_even_acceptance(3, 4.1) is None


def test_break_even_counts_the_root():
    # 20 ms a row; heads and choice 2, verify 26, rest 1: 29 / 20
    assert f.break_even_tokens_per_step(20, 2, 26, 1) == pytest.approx(1.45)
    # 0.5 accepted drafts are 1.5 tokens: it pays, although 0.5 · 20 < 29
    assert f.pays(1.5, 20, 2, 26, 1)
    assert not f.pays(1.45, 20, 2, 26, 1)


ACCURACY = [[0.5, 0.2], [0.4, 0.1]]
SHAPE = [(0,), (1,), (0, 0), (0, 1), (1, 0)]


def test_tree_by_hand():
    reach = f.reach_probabilities(SHAPE, ACCURACY)
    # length 1: 0.5 + 0.2; length 2: 0.5·0.4 + 0.5·0.1 + 0.2·0.4
    assert reach == pytest.approx([0.7, 0.33])
    assert f.expected_accepted(reach) == pytest.approx(1.03)
    assert f.tree_tokens_per_step(SHAPE, ACCURACY) == pytest.approx(2.03)


def test_a_chain_is_a_tree_with_the_same_expectation():
    alpha, k = 0.6, 4
    paths = [(0,) * m for m in range(1, k + 1)]
    assert f.tree_tokens_per_step(paths, [[alpha]] * k) == pytest.approx(
        f.expected_tokens(alpha, k)
    )


def test_the_full_cartesian_tree_counts():
    # K = 4, s = 8: 4,096 leaves and 4,680 nodes; certain heads accept all four
    paths = [p for d in range(1, 5) for p in itertools.product(range(8), repeat=d)]
    assert len(paths) == 4680
    assert sum(len(p) == 4 for p in paths) == 4096
    assert f.tree_tokens_per_step(paths, [[1 / 8] * 8] * 4) == pytest.approx(5.0)


def test_tree_expectation_is_what_independent_heads_give():
    rng = random.Random(2)
    shape = set(SHAPE)
    total = 0
    for _ in range(50_000):
        path = ()
        for row in ACCURACY:
            (rank,) = rng.choices([0, 1, 9], [row[0], row[1], 1 - sum(row)])
            if (*path, rank) not in shape:
                break
            path = (*path, rank)
        total += len(path)
    assert 1 + total / 50_000 == pytest.approx(f.tree_tokens_per_step(SHAPE, ACCURACY), rel=0.01)


def test_unknown_ranks_and_depths_are_never_right():
    assert f.path_probability((7,), ACCURACY) == 0
    assert f.path_probability((0, 0, 0), ACCURACY) == 0
    assert f.reach_probabilities([], ACCURACY) == []
    assert f.tree_tokens_per_step([], ACCURACY) == 1


def test_tree_speedup_by_hand():
    # τ = 2.03, C(6) = 1.4, heads and rest 0.1 of a row: 2.03 / 1.5
    assert f.tree_speedup(2.03, 1.4, 0.1) == pytest.approx(1.3533, abs=1e-4)


def test_acceptance_rate_judges_only_what_was_reached():
    assert f.acceptance_rate(6, 2) == 0.75
    assert f.acceptance_rate(0, 5) == 0.0
    assert f.acceptance_rate(0, 0) is None


@pytest.mark.parametrize(
    "call",
    [
        lambda: f.expected_tokens(1.1, 3),
        lambda: f.expected_tokens(math.nan, 3),
        lambda: f.expected_tokens(0.5, -1),
        lambda: f.idealised_speedup(0.5, 3, -0.1),
        lambda: f.speedup_at_cost(0.5, 3, 0.1, 0.0),
        lambda: f.break_even_tokens_per_step(0, 1, 1),
        lambda: f.tree_speedup(2, 0.0),
        lambda: f.tree_speedup(2, 1.0, -1),
    ],
)
def test_impossible_inputs_are_refused(call):
    with pytest.raises(ValueError, match="must be"):
        call()
