import threading

import pytest

from explorer.records.errors import ExplorerError
from explorer.records.settings import DecodeSettings
from explorer.ui.worker import ModelWorker
from tests.ui.fakes import FakeLab, HeldLoad, wait_for


def loaded(lab) -> ModelWorker:
    worker = ModelWorker(lambda progress: lab)
    worker.start()
    wait_for(lambda: worker.status.phase == "ready")
    return worker


def test_loading_reports_its_progress_and_does_not_block():
    load = HeldLoad()
    worker = ModelWorker(load)
    worker.start()
    wait_for(lambda: worker.status.text == "Downloading")
    assert (worker.status.phase, worker.status.fraction) == ("loading", 0.5)
    with pytest.raises(ExplorerError):
        worker.race(worker.enter(), "hi", DecodeSettings())
    load.gate.set()
    wait_for(lambda: worker.status.phase == "ready")


@pytest.mark.parametrize("error", [ExplorerError("No weights: go online once."), KeyError("x")])
def test_a_failure_is_one_sentence(error):
    def load(progress):
        raise error

    worker = ModelWorker(load)
    worker.start()
    wait_for(lambda: worker.status.phase == "failed")
    assert "\n" not in worker.status.text
    assert worker.status.text.endswith(".")
    assert worker.lab is None


def test_runs_queue_in_order_and_leave():
    worker = loaded(FakeLab())
    first, second, third = worker.enter(), worker.enter(), worker.enter()
    assert [worker.ahead(ticket) for ticket in (first, second, third)] == [0, 1, 2]
    worker.leave(second)
    worker.leave(second)
    assert worker.ahead(third) == 1
    worker.leave(first)
    assert worker.ahead(third) == 0
    assert first.cancel.is_set()


def test_turns_give_all_events_and_end_with_none():
    worker = loaded(FakeLab())
    turns = worker.race(worker.enter(), "hi", DecodeSettings(max_new_tokens=20))
    events = []
    while (taken := turns.advance(0.0)) is not None:
        assert len(taken) == 1  # no time: one event a turn
        events += taken
    assert len(events) > 20
    assert turns.advance(0.0) is None


def test_closing_a_run_ends_it_on_its_own_thread():
    fake = FakeLab()
    worker = loaded(fake)
    turns = worker.race(worker.enter(), "hi", DecodeSettings())
    turns.advance(0.0)
    turns.close()
    wait_for(lambda: fake.closed == 1)


def test_all_work_is_on_one_thread():
    names = set()

    class Watched(FakeLab):
        def race(self, prompt, settings, cancel=None, against="plain"):
            for event in super().race(prompt, settings, cancel, against):
                names.add(threading.current_thread().name)
                yield event

    worker = loaded(Watched())
    turns = worker.race(worker.enter(), "hi", DecodeSettings(max_new_tokens=8))
    while turns.advance(0.001) is not None:
        pass
    assert len(names) == 1
    assert names != {threading.current_thread().name}


def test_errors_of_a_run_reach_the_caller():
    worker = loaded(FakeLab())
    with pytest.raises(ExplorerError):
        worker.race(worker.enter(), "refuse", DecodeSettings()).advance(0.0)
