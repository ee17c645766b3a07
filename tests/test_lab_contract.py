"""What everything above the lab relies on, of the fake lab and of a tiny real one alike."""

import threading

import pytest

from explorer.records.errors import ExplorerError
from explorer.records.events import RunStarted, StepRecorded, collect
from explorer.records.settings import decode_settings
from tests.tiny_lab import tiny_lab
from tests.ui.fakes import FakeLab

LABS = {"fake": FakeLab, "tiny": tiny_lab}
PROMPT = "some words"


@pytest.fixture(scope="module", params=LABS)
def lab(request):
    return LABS[request.param]()


@pytest.fixture(scope="module")
def events(lab):
    return list(lab.race(PROMPT, decode_settings(method=lab.method, max_new_tokens=12)))


def test_each_lane_starts_and_then_steps(events):
    assert {event.lane for event in events} == {0, 1}
    for lane in (0, 1):
        first, *rest = [event for event in events if event.lane == lane]
        assert isinstance(first, RunStarted)
        steps = [event.step for event in rest if isinstance(event, StepRecorded)]
        assert [step.index for step in steps] == list(range(len(steps)))


def test_a_piece_and_a_tree_are_there_before_they_are_named(events):
    pieces, trees = set(), {0: 0, 1: 0}
    for event in events:
        pieces |= set(event.pieces)
        if isinstance(event, StepRecorded):
            trees[event.lane] += len(event.trees)
            assert event.step.tree < trees[event.lane]
            assert {*event.step.token_ids, *event.step.emitted} <= pieces
            assert {token for top in event.step.base_top for token in top.ids} <= pieces


def test_both_lanes_are_lanes_of_one_prompt(events):
    trace = collect(events)
    assert trace.rival.header.settings.method == "plain"
    assert trace.rival.header.heads is None
    for lane in (trace, trace.rival):
        before = len(lane.header.prompt_ids)
        for step in lane.steps:
            assert step.context_length == before
            assert step.emitted == [step.token_ids[row] for row in step.accepted]
            before += len(step.emitted)
            assert bool(step.base_top) == (step.timings.verify > 0)
    assert {len(step.emitted) for step in trace.rival.steps} == {1}
    assert trace.rival.new_token_ids == trace.new_token_ids


def test_any_two_methods_race(lab):
    settings = decode_settings(method="plain", max_new_tokens=6)
    trace = collect(lab.race(PROMPT, settings, against=lab.method))
    assert trace.header.settings.method == "plain"
    assert trace.rival.header.settings.method == lab.method


def test_a_text_is_continued(lab):
    settings = decode_settings(method=lab.method, max_new_tokens=4)
    begun = collect(lab.race(PROMPT, settings))
    header = collect(lab.race(lab.continuation(begun), settings)).header
    assert header.prompt_ids == [*begun.header.prompt_ids, *begun.new_token_ids]
    assert header.continued_tokens == len(begun.new_token_ids) > 0


def test_an_unknown_method_is_refused(lab):
    with pytest.raises(ExplorerError, match="There is no method 'magic'"):
        list(lab.race(PROMPT, decode_settings(method="magic")))


def test_a_cancelled_race_ends(lab):
    cancel, steps = threading.Event(), 0
    for event in lab.race(PROMPT, decode_settings(method=lab.method, max_new_tokens=12), cancel):
        steps += isinstance(event, StepRecorded)
        cancel.set()
    assert steps <= 2
