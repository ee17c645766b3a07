"""Accepting: the rules on the page decide as the recorded run did."""

import pytest

from explorer.analysis.formulas import typical_bar
from explorer.learn.accepting import RUN, data, judged_step, telling_steps
from explorer.learn.recorded_runs import recorded_run
from tests.node import ask_module

TRACE = recorded_run(RUN)
STEPS_OF_RUN = [step for step in TRACE.steps if step.thresholds]


def test_typical_acceptance_takes_the_recorded_paths():
    steps = [judged_step(TRACE, step) for step in STEPS_OF_RUN]
    settings = TRACE.header.settings
    shown = ask_module(
        "learn/acceptance.js",
        "given[0].map((step) => module.typicalPath(step.rows, given[1]))",
        [steps, settings.epsilon],
    )
    assert shown == [step.accepted for step in STEPS_OF_RUN]


def test_bars_are_those_of_the_formula():
    assert ask_module(
        "learn/acceptance.js", "module.bar({ sure: given[0] }, given[1])", [0.05, 0.04]
    ) == pytest.approx(typical_bar(2.995732, 0.04, 0.2), rel=1e-6)


def test_sample_accepts_by_p_and_greedy_takes_first_choices():
    step = judged_step(TRACE, telling_steps(TRACE)[0])
    sample, greedy = ask_module(
        "learn/acceptance.js",
        "['sample', 'greedy'].map((rule) => module.chances(given.rows, rule, 0.09))",
        step,
    )
    for row, one in enumerate(step["rows"][1:], start=1):
        assert sample[row] == pytest.approx(sample[one["parent"]] * one["p"])
        assert greedy[row] in (0, 1)
    assert sum(greedy[1:]) <= 3


def test_typical_changes_what_comes_next_and_sample_does_not():
    step = data()["steps"][0]
    written = ask_module(
        "learn/acceptance.js",
        "['sample', 'typical'].map((rule) => module.nextTokens(given, rule, 0.09))",
        step,
    )
    assert written[0][:-1] == [one["p"] for one in step["wanted"]]
    assert sum(written[0]) == pytest.approx(1)
    assert sorted(written[1])[-1] == 1


def test_a_node_under_one_that_fell_is_never_reached_whatever_its_p():
    steps = [judged_step(TRACE, step) for step in STEPS_OF_RUN]
    fates = ask_module(
        "learn/acceptance.js",
        "given.map(({ rows }) => module.fates("
        "rows, module.chances(rows, 'typical', 0.09), 'typical', 0.09))",
        steps,
    )
    unreached = 0
    for step, fate in zip(steps, fates, strict=True):
        for row, one in enumerate(step["rows"][1:], start=1):
            assert (fate[row] == "accepted") == (row in step["path"])
            fell = fate[one["parent"]] in ("below the bar", "never reached")
            assert (fate[row] == "never reached") == fell
            unreached += fell and one["p"] > 0.09
    assert unreached  # a p above its bar says nothing there
