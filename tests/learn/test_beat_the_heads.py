"""Beat the heads: rounds hold what the recorded runs hold."""

import math

import pytest

from explorer.learn.beat_the_heads import RUNS, least_entropy, numbers, rounds_of
from explorer.learn.recorded_runs import heads_before, label, recorded_run


@pytest.mark.parametrize("name", RUNS)
def test_what_came_is_the_text_and_what_heads_said_is_recorded(name):
    trace = recorded_run(name)
    text = trace.new_token_ids
    assert len(rounds_of(name)) == 5
    for one in rounds_of(name):
        step = trace.steps[one["step"]]
        after = step.context_length - len(trace.header.prompt_ids) + 1
        for k, slot in enumerate(one["slots"]):
            names = [option["name"] for option in slot["options"]]
            assert names[slot["true"]] == label(trace, text[after + k])
            assert names[slot["head"]] == label(trace, heads_before(name, step)[k].ids[0])
            best = max(option["p"] or 0 for option in slot["options"])
            assert slot["options"][slot["true"]]["p"] == best  # greedy text


def test_the_least_entropy():
    assert least_entropy([1.0]) == 0
    assert least_entropy([0.5, 0.25]) == pytest.approx(1.5 * math.log(2))


def test_heads_are_right_now_and_then():
    assert 0 < numbers()["heads"] < 4
