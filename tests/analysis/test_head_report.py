import numpy as np
import pytest

from explorer.analysis.head_report import accuracy_report
from tests.analysis.made_up_runs import made_up_run

CHAIN = [(0,), (0, 0)]


def test_every_number_is_what_a_count_by_hand_gives():
    rows = [[0, 0], [1, 0], [-1, 7], [0, -1], [0, 0], [0, 3]] * 20
    report = accuracy_report([made_up_run(rows, CHAIN, probs=0.55)], ["chat"])
    counted = np.array(rows[: report.positions])
    for k, head in enumerate(report.heads):
        for top in (1, 5, 10):
            share = np.mean((counted[:, k] >= 0) & (counted[:, k] < top))
            assert head.top[top] == pytest.approx(share)
    second = report.heads[1]
    assert second.given_before == pytest.approx(np.mean(counted[counted[:, 0] == 0, 1] == 0))
    (confidence,) = report.heads[0].confidence
    assert (confidence.least, confidence.most) == (0.5, 0.6)
    assert confidence.promised == pytest.approx(0.55)
    assert confidence.right == pytest.approx(report.heads[0].top[1])
    assert report.by_kind == {"chat": pytest.approx(report.heads[0].top[1])}
    assert len(report.by_part) == 4


def test_acceptance_of_steps_that_reached_a_depth_and_of_all_steps_differ():
    report = accuracy_report([made_up_run([[0, 0], [9, 9], [0, -1], [9, 9]] * 25, CHAIN)], ["chat"])
    first, second = report.heads
    assert first.conditional == pytest.approx(first.per_position)
    assert second.per_position == pytest.approx(second.conditional * first.per_position, rel=0.1)


def test_heads_that_repeat_the_base_model_are_seen():
    report = accuracy_report([made_up_run([[1, 0]] * 40, CHAIN, repeats=(0,))], ["chat"])
    assert [head.repeats for head in report.heads] == [1.0, 0.0]


def test_nothing_recorded_is_no_report():
    assert accuracy_report([], []) is None
