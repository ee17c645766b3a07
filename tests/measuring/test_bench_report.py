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
        (
            1.03,
            "nor clearly slower than plain decoding on this machine: medusa runs at 1.03×",
        ),
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
    ("parameters", "words"),
    [
        (10.0, "add 10.0 million parameters to the base model, 10 % of its own, and 30.0 MB, 15 %"),
        (3.0, "3.0 % of its own, and 30.0 MB, 15 % of its bytes in memory: more than"),
        (0.5, "0.5 % of its own, and 30.0 MB, 15 % of its bytes in memory: of parameters under"),
    ],
)
def test_what_heads_add_beside_what_is_often_said(parameters, words):
    """What is said of parameters is compared with parameters, not with bytes."""
    memory = ExtraMemory(
        weights_bytes=30_000_000,
        cache_bytes=0,
        context_length=256,
        base_bytes=200_000_000,
        parameters=round(1e6 * parameters),
        base_parameters=100_000_000,
    )
    assert words in memory_sentence("medusa", memory)
    unknown = memory.model_copy(update={"parameters": None})
    assert "parameters" not in memory_sentence("medusa", unknown)
