"""The lab that tests of the page take for a real one keeps what a real one promises."""

from __future__ import annotations

import pytest

from explorer.records.events import RunStarted, StepRecorded, collect
from explorer.records.settings import decode_settings
from tests.tiny_lab import tiny_lab
from tests.ui.fakes import FakeLab


@pytest.fixture(params=[tiny_lab, FakeLab], ids=["real", "fake"])
def events(request):
    settings = decode_settings(method="medusa", max_new_tokens=12)
    return list(request.param().race("abcabc", settings))


def test_a_race_begins_with_both_lanes_and_ends_with_both_texts(events):
    assert {event.lane for event in events if isinstance(event, RunStarted)} == {0, 1}
    steps = [event for event in events if isinstance(event, StepRecorded)]
    assert {event.lane for event in steps} == {0, 1}
    for lane in (0, 1):
        written = sum(len(event.step.emitted) for event in steps if event.lane == lane)
        assert 0 < written <= 12


def test_a_race_is_one_trace(events):
    trace = collect(events)
    assert trace.rival.header.settings.method == "plain"
    assert trace.header.settings.method == "medusa"
    assert type(trace).model_validate_json(trace.model_dump_json()) == trace
