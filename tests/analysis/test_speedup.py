"""Figures of lanes and races: by hand, at the edges, and their half_width by simulation."""

import numpy as np
import pytest

from explorer.analysis.speedup import (
    Samples,
    acceptance_by_depth,
    compare,
    lane_figures,
    relative_half_width,
)


def test_a_lane_counts_its_own_work_only(step):
    steps = [
        step(emitted=(1, 2), heads=1, draft=2, verify=30, accept=3, commit=4, record=1000),
        step(emitted=(3,), verify=20),
    ]
    figures = lane_figures(Samples.of_steps(steps))
    assert figures.tokens == 3
    assert figures.steps == 2
    assert figures.seconds == pytest.approx(0.060)
    assert figures.tokens_per_second == pytest.approx(50)
    assert figures.tokens_per_step == pytest.approx(1.5)


def race_of(steps, rival):
    return compare(Samples.of_steps(steps), Samples.of_steps(rival))


def test_race_by_hand(step):
    steps = [step(emitted=(1, 2, 3), verify=30), step(emitted=(4,), verify=30)]
    figures = race_of(steps, [step(verify=20)] * 20)
    assert figures.lane.tokens_per_second == pytest.approx(4 / 0.060)
    assert figures.rival.tokens_per_second == pytest.approx(50)
    assert figures.lane.tokens_per_step == pytest.approx(2)
    assert figures.speedup == pytest.approx(4 / 3)
    assert figures.half_width > 0
    assert not figures.estimate


def test_few_plain_tokens_make_an_estimate(step):
    steps = [step(verify=20)] * 20
    assert race_of(steps, [step(verify=20)] * 15).estimate
    assert not race_of(steps, [step(verify=20)] * 16).estimate


def test_nothing_measured_is_none_not_zero(step):
    empty = race_of([], [])
    assert empty.lane.tokens_per_second is empty.rival.tokens_per_second is None
    assert empty.lane.tokens_per_step is empty.speedup is empty.half_width is None
    assert empty.estimate
    one_sided = race_of([step(verify=20)], [])
    assert one_sided.lane.tokens_per_second == pytest.approx(50)
    assert one_sided.speedup is None
    assert race_of([], [step(verify=20)]).speedup is None


def test_a_slowdown_is_shown_as_one(step):
    figures = race_of([step(verify=40)] * 20, [step(verify=20)] * 20)
    assert figures.speedup == pytest.approx(0.5)


def test_a_last_step_without_a_pass_divides_nothing_by_zero(step):
    assert lane_figures(Samples.of_steps([step()])).tokens_per_second is None


def _times(rng, mean, steps, correlated):
    """Milliseconds of steps; correlated ones drift up and down six steps at a time."""
    drift = np.repeat(rng.normal(0, 0.3 if correlated else 0.0, steps // 6), 6)
    return mean * (1 + drift + rng.normal(0, 0.05, steps))


def _coverage(rng, correlated, trials=400, steps=240):
    """Share of simulated races whose interval holds the true speedup, 2.0 / (30 / 20)."""
    hits = 0
    for _ in range(trials):
        fast = Samples(rng.choice([1.0, 2.0, 3.0], steps), _times(rng, 30, steps, correlated))
        plain = Samples(np.ones(steps), _times(rng, 20, steps, correlated))
        figures = compare(fast, plain)
        hits += abs(figures.speedup - 2 / 1.5) <= figures.half_width
    return hits / trials


@pytest.mark.parametrize("correlated", [False, True])
def test_the_spread_covers_the_truth_about_95_times_in_100(correlated):
    assert 0.91 <= _coverage(np.random.default_rng(0), correlated) <= 0.99


def test_the_spread_shrinks_with_more_steps():
    rng = np.random.default_rng(3)
    long = Samples(rng.choice([1.0, 2.0, 3.0], 4000), np.full(4000, 30.0))
    short = Samples(long.tokens[:100], long.milliseconds[:100])
    plain = Samples(np.ones(50), np.full(50, 20.0))
    assert relative_half_width(long, plain) < relative_half_width(short, plain) / 3


def test_identical_steps_have_no_spread_and_single_ones_an_unknown_one():
    same = Samples(np.ones(32), np.full(32, 20.0))
    assert relative_half_width(same, same) == 0
    one = Samples(np.ones(1), np.full(1, 20.0))
    assert relative_half_width(one, same) is None


def test_acceptance_by_depth_judges_what_was_reached(step, shape):
    tree = shape((0,), (1,), (0, 0), (1, 0), (0, 0, 0))
    steps = [
        # root; (0,) accepted, (1,) not; (0,0) rejected, its child and (1,0) never judged
        step(verdicts=("root", "accepted", "rejected", "rejected", "pruned", "pruned")),
        # all of the path accepted
        step(verdicts=("root", "accepted", "rejected", "accepted", "pruned", "accepted")),
        # nothing accepted
        step(verdicts=("root", "rejected", "rejected", "pruned", "pruned", "pruned")),
    ]
    one, two, three = acceptance_by_depth(steps, [tree])
    assert (one.accepted, one.first_rejections, one.rate) == (2, 1, 2 / 3)
    assert (two.accepted, two.first_rejections, two.rate) == (1, 1, 0.5)
    assert (three.accepted, three.first_rejections, three.rate) == (1, 0, 1.0)


def test_a_depth_below_an_accepted_leaf_was_not_reached(step, shape):
    tree = shape((0,), (1,), (0, 0))
    steps = [step(verdicts=("root", "rejected", "accepted", "pruned"))]
    one, two = acceptance_by_depth(steps, [tree])
    assert one.rate == 1.0
    assert (two.accepted, two.first_rejections, two.rate) == (0, 0, None)


def test_a_bare_root_has_no_depths(step, shape):
    assert acceptance_by_depth([step()], [shape()]) == []
    assert acceptance_by_depth([], []) == []


def test_break_even_is_what_the_lane_needs_to_be_as_fast(step):
    race = race_of([step(emitted=(1, 2), verify=30)] * 20, [step(verify=20)] * 20)
    assert race.break_even == pytest.approx(1.5)
    assert race.speedup == pytest.approx(race.lane.tokens_per_step / race.break_even)
    assert race_of([step(verify=30)], []).break_even is None


@pytest.mark.parametrize(
    ("milliseconds", "kind", "words"),
    [
        (40, "slow", "slower than {rival}"),
        (20, "even", "as fast as {rival}"),
        (10, "fast", "faster than {rival}"),
    ],
)
def test_how_a_lane_stands_in_words(step, milliseconds, kind, words):
    race = race_of([step(verify=milliseconds)] * 20, [step(verify=20)] * 20)
    assert (race.kind, race.words) == (kind, words)


def test_a_difference_within_the_spread_is_called_unclear(step):
    times = [10, 30, 12, 29, 11, 28, 31, 9]
    race = race_of([step(verify=t) for t in times], [step(verify=21)] * 20)
    assert race.kind == "unclear"
    assert race.words == "no clear difference"
    assert race_of([], []).words == "nothing measured yet"
