import json

import pytest

from explorer.records.events import PositionsRecorded, collect
from explorer.records.settings import DecodeSettings
from explorer.records.step import Step
from explorer.ui.wire import MAX_POSITIONS, Wire
from tests.ui.fakes import FakeLab

TREE_64 = 4  # of fakes.SHAPES


def wire_of(lab: FakeLab, **settings: object) -> Wire:
    wire = Wire()
    for event in lab.race("hi", DecodeSettings(**settings)):
        wire.add(event)
    wire.end()
    return wire


def test_a_step_of_64_rows_is_small_and_flat_over_the_run():
    wire = wire_of(FakeLab(shapes=(TREE_64,)), max_new_tokens=400)
    sizes = [len(json.dumps(event).encode()) for event in wire.packed if event[:2] == ["step", 0]]
    assert max(sizes[1:-1]) <= 12_000
    early, late = sizes[1:11], sizes[-11:-1]
    assert sum(late) < 1.2 * sum(early)


def test_every_position_is_sent_once_and_never_many_at_a_time():
    fake = FakeLab()
    wire = Wire()
    expected = []
    for event in fake.race("hi", DecodeSettings(max_new_tokens=60)):
        wire.add(event)
        if hasattr(event, "step"):
            expected += [position.index for position in event.step.positions]
    wire.add(PositionsRecorded(positions=[]))
    wire.end()
    steps = [event[2]["p"] for event in wire.packed if event[:2] == ["step", 0]]
    rest = [event[2] for event in wire.packed if event[0] == "positions"]
    assert max(map(len, steps)) <= MAX_POSITIONS
    found = [position[0] for bunch in [*steps, *rest] for position in bunch]
    assert found == expected


def test_a_piece_is_sent_once():
    wire = wire_of(FakeLab())
    heard = []
    for event in wire.packed:
        heard += event[3][::2]
    assert len(heard) == len(set(heard))


def test_a_message_holds_what_comes_from_an_event_on():
    wire = wire_of(FakeLab())
    message = json.loads(wire.message("key", 3, live=True))
    assert message == {"run": "key", "first": 3, "events": wire.packed[3:], "live": True}


def test_a_step_is_sent_with_its_floor():
    floors = {
        tuple(event[2]["f"] or ()) for event in wire_of(FakeLab()).packed if event[0] == "step"
    }
    assert {pair[1] for pair in floors if pair} == {5.25}
    assert all(pair[0] >= 104_000_000 for pair in floors if pair)


def test_how_far_a_step_is_over_its_floor_follows_from_its_times():
    steps = collect(FakeLab().race("hi", DecodeSettings(max_new_tokens=9))).steps
    measured = [step for step in steps if step.floor]
    assert measured
    for step in measured:
        assert step.over_floor == pytest.approx(step.timings.step / 5.25, abs=1e-4)
        claimed = step.model_dump() | {"over_floor": 9.0}
        assert Step.model_validate(claimed).over_floor == step.over_floor
        assert step.model_copy(update={"floor": None}).over_floor is None


def test_the_price_of_the_nodes_is_sent():
    packed = Wire()
    for event in FakeLab().race("hi", DecodeSettings(max_new_tokens=9)):
        if hasattr(event, "step"):
            priced = event.step.model_copy(update={"price": 0.25})
            event = event.model_copy(update={"step": priced})
        packed.add(event)
    packed.end()
    assert {event[2]["pr"] for event in packed.packed if event[0] == "step"} == {0.25}
