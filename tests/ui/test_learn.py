"""Learn as the app serves it: with a model, without one, and while it loads."""

from types import SimpleNamespace

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from explorer.analysis.cost_file import shipped_costs
from explorer.ui.learn import allowed, learn_routes
from explorer.ui.worker import ModelWorker, Status
from tests.ui.fakes import FakeLab


@pytest.fixture
def worker():
    def load(progress):
        return FakeLab()

    return ModelWorker(load)


@pytest.fixture
def client(worker):
    return TestClient(Starlette(routes=learn_routes(worker)))


def test_the_page_and_its_data_need_no_model(client):
    page = client.get("/learn")
    assert page.status_code == 200
    assert "The memory wall" in page.text
    assert page.headers["cache-control"] == "no-cache"
    assert client.get("/learn-data/memory_wall.json").json()["machines"]


@pytest.mark.parametrize("key", ["nothing", "..%2Fpage", "__init__", "teacher.py"])
def test_an_unknown_chapter_is_not_found(client, key):
    assert client.get(f"/learn-data/{key}.json").status_code == 404


def test_it_knows_this_machine_once_a_model_is_loaded(client, worker):
    assert client.get("/learn-live/state").json() == {
        "model": None,
        "own": False,
        "runs": False,
    }
    assert client.get("/learn-live/costs").json() is None
    worker.start()
    worker._thread.submit(lambda: None).result()  # the one thread has loaded before
    state = client.get("/learn-live/state").json()
    assert state == {
        "model": FakeLab.description,
        "bandwidth": FakeLab.read_bandwidth,
        "own": False,
        "runs": False,
    }


def test_prompts_of_its_own_user_are_run_unless_no_model_can_be(worker):
    assert allowed(worker, own=True) == {"own": True, "runs": True}  # while it loads, too
    worker.status = Status("failed", "Recorded runs only.")
    assert allowed(worker, own=True) == {"own": True, "runs": False}


def test_the_best_tree_knows_what_was_measured_of_this_machine(client, worker):
    worker.start()
    worker._thread.submit(lambda: None).result()
    assert client.get("/learn-live/costs").json() is None  # heads whose costs nobody measured
    costs = next(iter(shipped_costs().values()))
    worker.lab.heads = {"medusa": SimpleNamespace(costs=costs)}
    machine = client.get("/learn-live/costs").json()
    assert machine["name"] == "this machine"
    assert machine["cost"][0] == 1
    assert costs.device in machine["source"]
