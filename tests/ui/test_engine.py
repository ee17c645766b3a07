import threading
import time

import pytest

from explorer.records.errors import ExplorerError
from explorer.records.settings import DecodeSettings
from explorer.ui.engine import Engine
from tests.ui.fakes import FakeExplorer


def wait_for(condition, seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    assert condition()


def loaded(racer) -> Engine:
    engine = Engine(lambda progress: racer)
    engine.start()
    wait_for(lambda: engine.status.phase == "ready")
    return engine


def test_loading_tells_how_far_it_is_and_does_not_block():
    gate = threading.Event()

    def load(progress):
        progress("Downloading", 0.25)
        gate.wait(5)
        return FakeExplorer()

    engine = Engine(load)
    engine.start()
    wait_for(lambda: engine.status.text == "Downloading")
    assert (engine.status.phase, engine.status.fraction) == ("loading", 0.25)
    with pytest.raises(ExplorerError):
        engine.race(engine.enter(), "hi", DecodeSettings())
    gate.set()
    wait_for(lambda: engine.status.phase == "ready")


@pytest.mark.parametrize("error", [ExplorerError("No weights: go online once."), KeyError("x")])
def test_a_failure_is_one_sentence(error):
    def load(progress):
        raise error

    engine = Engine(load)
    engine.start()
    wait_for(lambda: engine.status.phase == "failed")
    assert "\n" not in engine.status.text
    assert engine.status.text.endswith(".")
    assert engine.racer is None


def test_runs_queue_in_order_and_leave():
    engine = loaded(FakeExplorer())
    first, second, third = engine.enter(), engine.enter(), engine.enter()
    assert [engine.ahead(ticket) for ticket in (first, second, third)] == [0, 1, 2]
    engine.leave(second)
    engine.leave(second)
    assert engine.ahead(third) == 1
    engine.leave(first)
    assert engine.ahead(third) == 0
    assert first.cancel.is_set()


def test_turns_give_all_events_and_end_with_none():
    engine = loaded(FakeExplorer())
    turns = engine.race(engine.enter(), "hi", DecodeSettings(max_new_tokens=20))
    events = []
    while (taken := turns.advance(0.0)) is not None:
        assert len(taken) == 1  # no time: one event a turn
        events += taken
    assert len(events) > 20
    assert turns.advance(0.0) is None


def test_closing_a_run_ends_it_on_its_own_thread():
    fake = FakeExplorer()
    engine = loaded(fake)
    turns = engine.race(engine.enter(), "hi", DecodeSettings())
    turns.advance(0.0)
    turns.close()
    wait_for(lambda: fake.closed == 1)


def test_all_work_is_on_one_thread():
    names = set()

    class Watched(FakeExplorer):
        def race(self, prompt, settings, cancel=None):
            for event in super().race(prompt, settings, cancel):
                names.add(threading.current_thread().name)
                yield event

    engine = loaded(Watched())
    turns = engine.race(engine.enter(), "hi", DecodeSettings(max_new_tokens=8))
    while turns.advance(0.001) is not None:
        pass
    assert len(names) == 1
    assert names != {threading.current_thread().name}


def test_errors_of_a_run_reach_the_caller():
    engine = loaded(FakeExplorer())
    with pytest.raises(ExplorerError):
        engine.race(engine.enter(), "refuse", DecodeSettings()).advance(0.0)
