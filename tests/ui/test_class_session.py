"""The class of Learn: it runs on the model's thread, stops when asked, for its own user only."""

import threading
import time
from dataclasses import dataclass, field
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from explorer.ui.class_session import (
    NOT_HERE,
    NOTHING_TO_KEEP,
    OWN_HEADER,
    STOPPED_EARLY,
    ClassSession,
    class_routes,
)
from explorer.ui.worker import ModelWorker
from tests.ui.fakes import FakeLab

FRAME = {"seconds": 0.0, "update": 0, "top1": [0.1]}
LATER = FRAME | {"update": 5}


@dataclass
class Begun:
    record: dict
    kept: list = field(default_factory=list)

    def keep(self, folder):
        self.kept.append(folder)


def loaded(progress) -> Any:
    return FakeLab()


@pytest.fixture
def worker():
    worker = ModelWorker(loaded)
    worker.start()
    wait(lambda: worker.lab is not None)
    return worker


def wait(until):
    end = time.monotonic() + 10
    while not until():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_class_runs_to_its_end_and_can_be_kept(worker, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    begun = Begun({"seconds": 90})
    session = ClassSession(worker, True, lambda lab, folder: iter([begun, FRAME, None, LATER]))
    assert session.state() == {"can": True, "running": False, "said": "", "lesson": None}
    session.keep()  # nothing to keep yet
    session.start()
    wait(lambda: not session.state()["running"])
    assert session.state()["lesson"] == {"seconds": 90, "frames": [FRAME, LATER]}
    session.keep()
    session.keep()  # a second press writes no second folder
    assert len(begun.kept) == 1
    assert str(begun.kept[0]) in session.state()["said"]
    session.reset()
    assert session.state()["lesson"] is None


def test_a_class_is_stopped_and_others_get_the_model(worker):
    ended = threading.Event()

    def endless(lab, folder):
        try:
            yield Begun({})
            while True:
                time.sleep(0.01)
                yield FRAME
        finally:
            ended.set()

    session = ClassSession(worker, True, endless)
    session.start()
    wait(lambda: session.state()["lesson"])
    assert worker.busy
    session.stop()
    wait(lambda: not session.state()["running"])
    assert ended.wait(5)
    assert not worker.busy


def test_a_class_stopped_before_it_learned_has_nothing_to_keep(worker):
    def reads(lab, folder):
        yield Begun({})
        yield FRAME
        while True:
            time.sleep(0.01)
            yield {"reading": 2, "of": 9}

    session = ClassSession(worker, True, reads)
    session.stop()  # of nothing
    assert session.state()["said"] == ""
    session.start()
    wait(lambda: "of 9 parts" in session.state()["said"])
    session.stop()
    wait(lambda: not session.state()["running"])
    assert session.state()["said"] == STOPPED_EARLY
    session.keep()
    assert session.state()["said"] == NOTHING_TO_KEEP


def test_a_failure_is_one_sentence(worker):
    def broken(lab, folder):
        yield Begun({})
        raise RuntimeError("secret")

    session = ClassSession(worker, True, broken)
    session.start()
    wait(lambda: not session.state()["running"])
    assert "RuntimeError" in session.state()["said"]
    assert "secret" not in session.state()["said"]


def test_a_public_app_trains_nothing(worker):
    session = ClassSession(worker, False, lambda lab, folder: pytest.fail("it trained"))
    session.start()
    assert session.state() == {"can": False, "running": False, "said": NOT_HERE, "lesson": None}


def test_another_site_cannot_start_a_class(worker):
    session = ClassSession(worker, True, lambda lab, folder: iter([Begun({}), FRAME]))
    client = TestClient(Starlette(routes=class_routes(session)))
    assert client.post("/learn-live/class/start").status_code == 400
    assert client.post("/learn-live/class/explode", headers={OWN_HEADER: "1"}).status_code == 400
    assert client.get("/learn-live/class").json()["running"] is False
    assert client.post("/learn-live/class/start", headers={OWN_HEADER: "1"}).status_code == 200
    wait(lambda: not session.state()["running"])
    assert client.get("/learn-live/class").json()["lesson"]["frames"] == [FRAME]
