"""Own runs on Learn: of a prompt that is run, or a run that the page sends; for one user alone."""

import json

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from explorer.learn.accepting import SETTINGS
from explorer.learn.recorded_runs import recorded_run
from explorer.records.errors import ExplorerError
from explorer.records.files import dump_trace
from explorer.records.schema import Trace
from explorer.ui.class_session import OWN_HEADER
from explorer.ui.own_runs import NOT_HERE, TRACE, OwnRuns, own_run_routes
from explorer.ui.worker import ModelWorker
from tests.ui.fakes import FakeLab

PROMPT = {"prompt": "Describe a harbour."}
PAGE = {OWN_HEADER: "1"}


@pytest.fixture
def worker():
    worker = ModelWorker(lambda progress: FakeLab())
    worker.start()
    worker._thread.submit(lambda: None).result()  # the one thread has loaded before
    return worker


def asking(worker, own=True, run=lambda lab, prompt, settings: recorded_run("typical")):
    return TestClient(Starlette(routes=own_run_routes(OwnRuns(worker, own, run))))


def test_a_prompt_is_run_as_the_chapter_needs_it(worker):
    asked = []

    def run(lab, prompt, settings):
        asked.append((prompt, settings))
        assert worker.busy
        return recorded_run("typical")

    answer = asking(worker, run=run).post("/learn-live/own/accepting", json=PROMPT, headers=PAGE)
    assert answer.status_code == 200
    assert asked == [(PROMPT["prompt"], SETTINGS)]
    assert not worker.busy
    found = answer.json()
    assert Trace.model_validate(found["run"]) == recorded_run("typical")
    assert found["data"]["whose"] == "your run"
    assert found["step"] >= 1


def test_a_run_is_looked_at_without_a_model():
    client = asking(ModelWorker(lambda progress: FakeLab()))
    headers = PAGE | {"content-type": TRACE}
    file = dump_trace(recorded_run("typical"))
    found = client.post("/learn-live/own/accepting", content=file, headers=headers).json()
    assert found["run"] is None
    assert found["data"]["steps"]
    refused = client.post("/learn-live/own/tree", content=file, headers=headers)
    assert refused.status_code == 400
    assert refused.text.startswith("Your last run has no greedy step")
    broken = client.post("/learn-live/own/tree", content=b"nothing", headers=headers)
    assert (broken.status_code, "damaged" in broken.text) == (400, True)


@pytest.mark.parametrize("body", ["{}", "[]", "nothing", '{"prompt": " "}', '{"prompt": 3}'])
def test_an_empty_prompt_is_refused(worker, body):
    answer = asking(worker).post("/learn-live/own/accepting", content=body, headers=PAGE)
    assert (answer.status_code, answer.text) == (400, "The prompt is empty: write something.")


def test_a_public_app_another_site_and_an_unknown_chapter_get_nothing(worker):
    public = asking(worker, own=False).post("/learn-live/own/accepting", json=PROMPT, headers=PAGE)
    assert (public.status_code, public.text) == (403, NOT_HERE)
    client = asking(worker)
    assert client.post("/learn-live/own/accepting", json=PROMPT).status_code == 400
    for key in ("memory_wall", "nothing", "..%2Fpage"):
        assert client.post(f"/learn-live/own/{key}", json=PROMPT, headers=PAGE).status_code == 404


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (ExplorerError("The prompt is too long."), 400, "The prompt is too long."),
        (RuntimeError("secret"), 500, "unexpectedly"),
    ],
)
def test_a_failure_is_a_sentence_and_frees_the_model(worker, error, status, text):
    def fails(lab, prompt, settings):
        raise error

    client = asking(worker, run=fails)
    answer = client.post("/learn-live/own/tree", content=json.dumps(PROMPT), headers=PAGE)
    assert answer.status_code == status
    assert text in answer.text
    assert "secret" not in answer.text
    assert not worker.busy


def test_too_large_a_run_is_not_read(worker):
    headers = PAGE | {"content-length": str(2**30)}
    answer = asking(worker).post("/learn-live/own/tree", content=b"", headers=headers)
    assert answer.status_code == 413
