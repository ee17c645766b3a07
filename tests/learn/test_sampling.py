"""Speculative sampling: what the page draws is what Python computes and the run recorded."""

import math
import re

import pytest

from explorer.analysis.formulas import head_weight, overlap, residual_distribution, typical_bar
from explorer.learn.recorded_runs import recorded_run
from explorer.learn.speculative_sampling import CHAPTER, RUN, data, recorded_trials
from tests.node import ask_module

P, Q = [0.5, 0.3, 0.2, 0.0], [0.1, 0.6, 0.2, 0.1]


def test_the_closed_form():
    assert overlap(P, Q) == pytest.approx(0.6)
    assert residual_distribution(P, Q) == pytest.approx([1, 0, 0, 0])
    assert residual_distribution(P, P) == P


def test_both_languages_agree():
    shown = ask_module(
        "learn/sampling.js", "[module.overlap(...given), module.residual(...given)]", [P, Q]
    )
    assert shown == [pytest.approx(overlap(P, Q)), pytest.approx(residual_distribution(P, Q))]


def test_every_trial_has_the_whole_p_and_q_of_its_record():
    steps = recorded_run(RUN).steps
    trials = [trial for step in steps for trial in step.trials or ()]
    shown = recorded_trials()
    assert len(shown) == len(trials) > 30
    for one, trial in zip(shown, trials, strict=True):
        assert one["p"][one["candidate"]] == pytest.approx(trial.p, abs=1e-6)
        assert one["q"][one["candidate"]] == pytest.approx(trial.q, abs=1e-6)
        assert sum(one["p"]) == pytest.approx(1, abs=1e-5)
        assert sum(one["q"]) == pytest.approx(1, abs=1e-5)
        assert trial.chance == pytest.approx(min(1, trial.p / trial.q), abs=1e-4)


def test_the_recorded_residual_is_that_of_p_and_q():
    steps = recorded_run(RUN).steps
    rejected = [(step.index, step.residual.probs) for step in steps if step.residual]
    last = {one["step"]: one for one in recorded_trials()}  # of each step, the rejected one
    assert len(rejected) > 20
    for step, probs in rejected:
        best = sorted(last[step]["residual"], reverse=True)[: len(probs)]
        assert best == pytest.approx(probs, abs=1e-4)


def test_the_question_is_answered_by_the_trace():
    asked, one = data()["question"], data()["trials"][0]
    assert asked["right"] == (0 if one["coin"] < one["chance"] else 1)
    verdict = recorded_run(RUN).steps[one["step"]].verdicts[one["depth"]]
    assert verdict == ("accepted" if asked["right"] == 0 else "rejected")


def test_the_bar_of_typical_acceptance():
    assert typical_bar(0.0, 0.09, 0.3) == 0.09
    assert typical_bar(math.log(10), 0.09, 0.3) == pytest.approx(0.03)


def test_weights_of_heads():
    assert [head_weight(k) for k in (1, 2, 3)] == pytest.approx([0.8, 0.64, 0.512])
    with pytest.raises(ValueError, match="counted from 1"):
        head_weight(0)


def test_the_text_keeps_a_chance_to_keep_apart_from_the_chance_to_be_drawn():
    example = CHAPTER.numbers()["example"]
    p, q = example["tried"]
    assert example["chance"] == pytest.approx(min(1, p / q), abs=1e-4)
    text = re.sub("<[^>]+>", "", CHAPTER.html())
    assert f"= {q:.2f}; with" in text
    assert f"= {example['chance']:.2f}, and the coin fell on {example['coin']:.2f}" in text
