"""What auto trees would make of recorded text."""

from __future__ import annotations

import numpy as np
import pytest

from explorer.analysis.auto_replay import replay_auto
from explorer.analysis.joint_counts import RankedText
from explorer.analysis.tree_choice import Costs, choose, with_context_trees
from tests.choices import ACCURACY, KEY, ORDER, curve

SURE, UNSURE = [[0.9, 0.05], [0.9, 0.05]], [[0.05, 0.04], [0.3, 0.2]]
# At a sure position both heads are right, at an unsure one none is.
TEXT = RankedText(
    np.array([[0, 0], [-1, -1], [-1, -1], [-1, -1]] * 25, dtype=np.int16),
    before=100,
    probs=[SURE, UNSURE, UNSURE, UNSURE] * 25,
)


def calibrated(*curves):
    costs = Costs(curves, heads_ms=2.0, rest_ms=0.0)
    return with_context_trees(
        costs, lambda costs, context: choose(KEY, ORDER, costs, ACCURACY, basis="guess")
    ), costs


def test_it_drafts_where_the_heads_are_sure():
    calibration, costs = calibrated(curve(0.2))
    found = replay_auto(calibration, costs, [TEXT])
    # From a sure position on: 3 tokens with two nodes; then the last unsure one, with none.
    assert found.tokens_per_step == 2
    assert found.nodes == 1
    assert found.promised == pytest.approx((0.9 + 0.81) / 2)  # of two steps; one came true
    assert found.speedup == pytest.approx(4 / ((1.4 + 0.1) + (1 + 0.1)))


def test_rows_may_be_too_dear_for_any_guess():
    calibration, costs = calibrated(curve(2.0))
    found = replay_auto(calibration, costs, [TEXT])
    assert (found.tokens_per_step, found.nodes) == (1, 0)
    assert found.speedup == pytest.approx(1 / 1.1)


def test_the_price_is_that_of_the_context():
    calibration, costs = calibrated(curve(0.2), curve(2.0, 4000))
    far = RankedText(TEXT.rows, 3900, TEXT.probs)
    assert replay_auto(calibration, costs, [TEXT]).nodes == 1
    assert replay_auto(calibration, costs, [far]).nodes == 0
    assert replay_auto(calibration, costs, [TEXT, far]).nodes == pytest.approx(50 / 150)


def test_without_probabilities_nothing_is_known():
    calibration, costs = calibrated(curve(0.2))
    assert replay_auto(calibration, costs, [RankedText(TEXT.rows, 100)]) is None
    assert replay_auto(calibration, costs, []) is None
