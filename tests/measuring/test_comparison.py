"""A comparison in turns, on a tiny model: what it reports when, and what a cancel leaves."""

import threading

import pytest

from explorer.measuring import comparison as module
from explorer.measuring.comparison import comparison
from explorer.records.errors import ExplorerError
from explorer.records.methods import METHODS
from tests.tiny_lab import tiny_lab

PROMPTS = [
    {"id": "a", "category": "code", "prompt": "def f def f"},
    {"id": "b", "category": "chat", "prompt": "hello there"},
]


@pytest.fixture(scope="module")
def lab():
    return tiny_lab()


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(module, "WIDTHS", (1, 2, 4, 8, 16))


def reports(turns):
    return [turn.report for turn in turns if turn.report is not None]


def test_a_report_after_every_prompt_and_none_changes_what_was_reported(lab):
    turns = list(comparison(lab, PROMPTS, list(METHODS), 8))
    found = reports(turns)
    assert [report.prompts for report in found] == [1, 1, 2, 2]
    assert found[0].cost_curve is None  # first the results, then what the formulas need
    assert found[1].details["medusa"].prediction is not None
    assert set(found[-1].methods) == set(METHODS) - {"hydra"}
    assert "hydra" in found[-1].unavailable["hydra"]
    kept = [race.model_dump() for race in found[-1].races]
    for report in found:
        assert all(race.model_dump() in kept for race in report.races)
    assert found[-1].identical_prompts == 2
    assert found[-1].details["medusa"].memory.weights_bytes > 0
    assert found[-1].methods["plain"].shares.verify > 0
    rising = [turn.share for turn in turns]
    assert rising == sorted(rising)
    assert rising[-1] == 1.0
    assert len(turns) > 50  # a turn is about a step


def test_a_cancel_keeps_the_prompts_that_every_method_has_been_through(lab):
    cancel, found = threading.Event(), []
    for turn in comparison(lab, PROMPTS, ["medusa", "prompt-lookup"], 8, cancel=cancel):
        found.append(turn)
        if turn.share > 0.8:  # in the second prompt's second race
            cancel.set()
    last = found[-1].report
    assert last.prompts == 1
    assert {race.number for race in last.races} == {0}
    assert last.details["medusa"].prediction is not None


def test_differences_come_with_their_place_and_the_audits_verdict(lab, monkeypatch):
    real = lab.race

    def liar(prompt, settings, cancel=None):
        for event in real(prompt, settings, cancel):
            if event.lane == 1 and hasattr(event, "step") and prompt == PROMPTS[1]["prompt"]:
                changed = [96 - token for token in event.step.emitted]
                step = event.step.model_copy(update={"emitted": changed})
                event = event.model_copy(update={"step": step})
            yield event

    monkeypatch.setattr(lab, "race", liar)
    last = reports(comparison(lab, PROMPTS, ["medusa"], 6))[-1]
    assert last.identical_prompts == 1
    same, differing = last.races
    assert same.difference is None
    assert differing.difference.position == 0
    assert differing.difference.verdict == "divergence"
    assert "logits are" in differing.difference.explanation


def test_what_cannot_run_is_one_sentence(lab):
    with pytest.raises(ExplorerError, match="Prompt 'long': The prompt has"):
        list(comparison(lab, [{"id": "long", "prompt": "x" * 600}], ["medusa"], 8))
    with pytest.raises(ExplorerError, match="needs Hydra heads"):
        list(comparison(lab, PROMPTS, ["hydra"], 8))
    with pytest.raises(ExplorerError, match="no method"):
        list(comparison(lab, PROMPTS, ["telepathy"], 8))
