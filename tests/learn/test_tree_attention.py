"""The chapter on tree attention: masks by definition, and the recorded faults that it tells of."""

import pytest

from explorer.learn import tree_attention
from explorer.records.faults import FAULTS, SOUND


@pytest.mark.parametrize("puzzle", tree_attention.data()["puzzles"], ids=lambda one: one["name"])
def test_a_row_sees_its_ancestors_and_itself(puzzle):
    for row, seen in enumerate(puzzle["mask"]):
        at, line = row, set()
        while at >= 0:
            line.add(at)
            at = puzzle["parents"][at]
        assert set(seen) == line
        assert puzzle["positions"][row] == puzzle["prefix"] + len(line) - 1


def test_two_nodes_of_the_example_hold_one_token():
    assert len(set(tree_attention.EXAMPLE_TOKENS)) < len(tree_attention.EXAMPLE_TOKENS)
    assert len(tree_attention.EXAMPLE.parents) == 5


def test_every_fault_was_recorded_and_the_sound_engine_passes_all_checks():
    reports = {report.fault: report for report in tree_attention.reports()}
    assert list(reports) == list(FAULTS)
    assert reports[SOUND].caught_by == []
    assert reports[SOUND].text == reports[SOUND].plain
    for report in reports.values():
        wrong = report.audit.first
        assert wrong is None or report.text[wrong] != report.plain[wrong]
        assert report.text[:wrong] == report.plain[:wrong]


def test_the_question_asks_for_prefix_and_depth():
    asked, step = tree_attention.data()["question"], tree_attention.telling_step()
    depth = len(step.accepted) - 1
    assert asked["options"][asked["right"]] == str(step.context_length + depth)
