"""The sentences of a benchmark's report, from figures written here."""

import pytest

from explorer.analysis.races import MethodFigures
from explorer.measuring.bench_report import fastest_sentence, memory_sentence, verdict_sentence
from explorer.measuring.memory import ExtraMemory
from explorer.measuring.method_details import MethodDetails


def figures(step_ms=20, speedup=None):
    return MethodFigures(
        tokens=20,
        steps=10,
        seconds=1,
        tokens_per_second=20,
        tokens_per_step=2,
        step_ms=step_ms,
        speedup=speedup,
        shares=None,
    )


def details(half_width):
    return MethodDetails(
        explanation="",
        identical_prompts=3,
        plain_tokens_per_second=16.04,
        half_width=half_width,
        acceptance=[],
        emitted_per_step={},
        per_category={},
        memory=None,
        prediction=None,
    )


@pytest.mark.parametrize(
    ("speedup", "words"),
    [
        (1.25, "Speculation pays on this machine: medusa runs at 1.25×"),
        (0.9, "does not pay"),
        (1.03, "neither pays nor costs much on this machine: medusa runs at 1.03× plain, ± 0.05"),
    ],
)
def test_a_slowdown_is_not_called_a_speedup(speedup, words):
    methods = {"medusa": figures(30, speedup), "plain": figures()}
    sentence = verdict_sentence("medusa", methods, 0.05)
    assert words in sentence
    assert "pays from 1.50" in sentence


def test_nothing_measured_nothing_claimed():
    assert "cannot say" in verdict_sentence(None, {"plain": figures()}, None)
    assert "cannot say" in verdict_sentence("medusa", {}, None)
    assert fastest_sentence({"plain": figures()}, {}, 3) == ""


@pytest.mark.parametrize(
    ("speedups", "half_width", "sentence"),
    [
        (
            {"medusa": 1.1, "hydra": 1.25},
            0.05,
            "Fastest over 3 prompts: hydra, at 1.25× ± 0.05 plain (20.0 against 16.0 tokens/s).",
        ),
        (
            {"medusa": 1.04, "hydra": 1.02},
            0.05,
            "Fastest over 3 prompts: medusa, at 1.04× ± 0.05 plain (20.0 against 16.0 tokens/s), "
            "too little to be sure of with so few prompts.",
        ),
        (
            {"medusa": 0.9, "hydra": 0.8},
            None,
            "No method beat plain decoding over 3 prompts: closest was medusa, at 0.90× plain "
            "(20.0 against 16.0 tokens/s).",
        ),
        (
            {"medusa": None},
            None,
            "The replies are too short to time: ask for more new tokens.",
        ),
    ],
)
def test_the_fastest_is_named_as_surely_as_its_interval_bears(speedups, half_width, sentence):
    methods = {name: figures(30, speedup) for name, speedup in speedups.items()}
    every = {name: details(half_width) for name in speedups}
    assert fastest_sentence(methods, every, 3) == sentence


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        (30, "The heads of medusa add 30.0 MB, 30 % of the base model: more than"),
        (2.5, "2.5 MB, 2.5 % of the base model: more than"),
        (0.5, "0.5 MB, 0.5 % of the base model: under the 1 %"),
    ],
)
def test_what_heads_add_beside_what_is_often_said(extra, words):
    memory = ExtraMemory(
        weights_bytes=round(1e6 * extra),
        cache_bytes=0,
        context_length=128,
        base_bytes=100_000_000,
    )
    assert words in memory_sentence("medusa", memory)
