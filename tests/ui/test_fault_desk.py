"""Planted faults on the page: in turn, once each, and never more than one at a time."""

import threading
import time

import pytest

from explorer.records.faults import FAULTS
from explorer.ui.fault_desk import BUSY, FaultDesk
from explorer.ui.worker import ModelWorker
from tests.ui.fakes import FakeLab


class Report:
    def __init__(self, fault):
        self.fault = fault

    def model_dump_json(self):
        return f'"{self.fault}"'


@pytest.fixture
def worker():
    worker = ModelWorker(lambda progress: FakeLab())
    worker.start()
    end = time.monotonic() + 20
    while worker.lab is None and time.monotonic() < end:
        time.sleep(0.01)
    return worker


def test_a_fault_is_run_once_and_answered_from_then_on(worker):
    asked = []
    desk = FaultDesk(worker, lambda lab, fault, cancel: asked.append(fault) or Report(fault))
    for _ in range(3):
        assert desk.answer("siblings") == (200, '"siblings"')
    assert asked == ["siblings"]
    assert not worker.busy


def test_an_unknown_fault_is_refused_in_a_sentence(worker):
    status, text = FaultDesk(worker).answer("../x")
    assert status == 404
    assert all(fault in text for fault in FAULTS)


def test_without_a_model_the_status_answers():
    worker = ModelWorker(lambda progress: FakeLab())
    assert FaultDesk(worker).answer("siblings") == (503, "Starting")


def test_it_waits_for_its_turn_and_another_visitor_is_asked_to_wait(worker):
    desk = FaultDesk(worker, lambda lab, fault, cancel: Report(fault))
    running = worker.enter()
    answers = []
    asking = threading.Thread(target=lambda: answers.append(desk.answer("tokens")))
    asking.start()
    end = time.monotonic() + 20
    while worker.ahead(running) == 0 and len(worker._queue) < 2 and time.monotonic() < end:
        time.sleep(0.01)
    assert desk.answer("siblings") == (503, BUSY)
    assert answers == []
    worker.leave(running)
    asking.join(20)
    assert answers == [(200, '"tokens"')]


def test_a_failure_is_a_sentence_and_frees_the_model(worker):
    def fails(lab, fault, cancel):
        raise RuntimeError("<b>boom</b>")

    desk = FaultDesk(worker, fails)
    status, text = desk.answer("residual")
    assert status == 500
    assert "unexpectedly" in text
    assert not worker.busy
