"""The sentences of a benchmark's report, from figures written here."""

import pytest

from explorer.analysis.races import MethodFigures
from explorer.measuring.bench_report import memory_sentence, verdict_sentence
from explorer.measuring.memory import ExtraMemory


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
