"""The app's endpoints as their clients see them: gradio_client, plain HTTP, and agents over MCP."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import httpx
import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError
from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client

from explorer.records.errors import ExplorerError
from explorer.records.schema import Trace
from explorer.records.settings import DecodeSettings, setting_names
from explorer.ui import start as start_module
from explorer.ui.limits import PRIVATE, PUBLIC
from explorer.ui.no_files import REFUSAL
from explorer.ui.serve import serve
from explorer.ui.start import parser
from explorer.ui.worker import ModelWorker
from tests.ui.fakes import FakeLab, HeldLoad, wait_for

RUN_KEYS = {
    "text", "token_ids", "method", "steps", "new_tokens", "continued_tokens", "tokens_per_step",
    "seconds", "tokens_per_second", "prefill_seconds", "model", "tuned", "heads", "backend",
    "device", "settings", "trace", "notes",
}  # fmt: skip
JSON = {"content-type": "application/json"}
LANE_KEYS = {"tokens_per_second", "tokens_per_step", "seconds", "token_ids", "speedup", "identical"}


class Served:
    """The app with a fake model, as its clients reach it."""

    def __init__(self, lab=None, limits=PRIVATE, load=None, mcp=False) -> None:
        self.worker = ModelWorker(load or (lambda progress: lab))
        self.demo = serve(self.worker, limits, "127.0.0.1", None, mcp)
        self.url = self.demo.local_url
        self.client = Client(self.url, verbose=False)
        self.close = self.demo.close

    def run(self, prompt="hi", **given):
        return self.client.predict(prompt=prompt, **given, api_name="/run")


@pytest.fixture(scope="module")
def app():
    with closing(Served(FakeLab())) as served:
        yield served


@pytest.fixture(scope="module")
def public():
    with closing(Served(FakeLab(), PUBLIC, mcp=True)) as served:
        yield served


@pytest.fixture(scope="module")
def slow():
    with closing(Served(FakeLab(pace=0.05))) as served:
        yield served


def test_only_run_and_race_are_offered(app):
    named = app.client.view_api(return_format="dict", print_info=False)
    assert set(named["named_endpoints"]) == {"/run", "/race"}
    assert named["unnamed_endpoints"] == {}


def test_every_setting_is_documented_with_its_default(app):
    named = app.client.view_api(return_format="dict", print_info=False)["named_endpoints"]
    for name, more in (("/run", {"method"}), ("/race", {"methods"})):
        found = {argument["parameter_name"]: argument for argument in named[name]["parameters"]}
        assert set(found) == {*setting_names(), "prompt", "trace"} - {"method"} | more
        assert all(argument["python_type"]["description"] for argument in found.values())
        assert not found["prompt"]["parameter_has_default"]
        for setting, default in DecodeSettings().model_dump().items():
            if setting in found:
                assert found[setting]["parameter_has_default"]
                assert found[setting]["parameter_default"] == default
        assert len(named[name]["description"]) > 80


def test_run_answers_what_the_command_prints(app):
    answer = app.run(max_new_tokens=20, temperature=0.5, tree="chain:2", method="hydra")
    assert set(answer) == RUN_KEYS
    assert answer["text"].startswith("A binary search finds")
    assert (answer["new_tokens"], len(answer["token_ids"])) == (20, 20)
    assert (answer["method"], answer["settings"]["acceptance"]) == ("hydra", "sample")
    assert answer["trace"] is None
    assert answer["notes"] == list(FakeLab.notes)


def test_the_trace_comes_with_the_answer_if_it_is_asked_for(app):
    answer = app.run(max_new_tokens=12, trace=True)
    assert Trace.model_validate(answer["trace"]).new_token_ids == answer["token_ids"]
    answer = app.client.predict(prompt="hi", max_new_tokens=12, trace=True, api_name="/race")
    traces = {name: Trace.model_validate(lane) for name, lane in answer["traces"].items()}
    assert traces["medusa"].new_token_ids == answer["lanes"]["medusa"]["token_ids"]


def test_race_answers_what_the_command_prints(app):
    methods = ["lookahead", "plain", "medusa"]
    answer = app.client.predict(prompt="hi", methods=methods, max_new_tokens=30, api_name="/race")
    assert list(answer["lanes"]) == ["plain", "lookahead", "medusa"]
    assert all(set(lane) >= LANE_KEYS for lane in answer["lanes"].values())
    assert answer["speedup"] == answer["lanes"]["lookahead"]["speedup"]
    assert answer["identical"] is True
    assert answer["settings"]["method"] == "lookahead"
    assert answer["traces"] is None


def test_updates_report_the_progress_of_a_run(slow):
    updates = list(slow.client.submit(prompt="hi", max_new_tokens=30, api_name="/run"))
    assert updates[0]["state"] in ("loading", "decoding")
    assert set(updates[-1]) == RUN_KEYS
    found = [update["new_tokens"] for update in updates]
    assert found == sorted(found)
    assert all(updates[-1]["text"].startswith(update["text"]) for update in updates)
    assert len(updates) > 2


@pytest.mark.parametrize(
    ("endpoint", "given", "sentence"),
    [
        ("/run", {"prompt": ""}, "prompt is empty"),
        ("/run", {"prompt": 7}, "prompt is empty"),
        ("/run", {"temperature": "warm"}, "temperature: Input should be a valid number"),
        ("/run", {"seed": -1}, "seed"),
        ("/run", {"top_k": 2**63}, "top_k"),
        ("/run", {"acceptance": "best"}, "acceptance"),
        ("/run", {"acceptance": "greedy", "temperature": 1}, "Greedy acceptance needs"),
        ("/run", {"trace": "yes"}, "true or false"),
        ("/run", {"prompt": "refuse"}, "is too deep: use another."),
        ("/run", {"prompt": "explode"}, "failed unexpectedly (RuntimeError)"),
        ("/race", {"methods": ["medusa"]}, "plain and at least one other"),
        ("/race", {"methods": ["plain", "magic"]}, "no method 'magic'"),
        ("/race", {"methods": "plain,medusa"}, "list of names"),
        ("/race", {"methods": [["plain"]]}, "list of names"),
    ],
)
def test_bad_input_is_one_sentence_and_the_app_goes_on(app, endpoint, given, sentence):
    with pytest.raises(AppError) as refused:
        app.client.predict(**{"prompt": "hi"} | given, api_name=endpoint)
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)
    assert app.run(max_new_tokens=2)["new_tokens"] == 2


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"prompt": "x" * 5_000}, "shorten"),
        ({"max_new_tokens": 257}, "At most 256"),
        ({"tree": "cartesian:9,9,5"}, "Choose one of the trees"),
        ({"lookahead_window": 32}, "lookahead_window is 4 here"),
        ({"draft_layers": 30}, "draft_layers is 0 here"),
    ],
)
def test_a_public_host_gives_less(public, given, sentence):
    with pytest.raises(AppError, match=sentence):
        public.run(**given)


def test_no_file_is_opened_for_a_caller(app, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("swordfish")
    file = {"path": str(secret), "meta": {"_type": "gradio.FileData"}}
    address = {"path": "https://example.com/x", "meta": file["meta"]}
    for value in (file, address, [{"deep": [address]}]):
        for body in ({"data": [value]}, {"data": ["hi"], "session_hash": value}):
            text = json.dumps(body).replace("gradio.FileData", "gradio\\u002eFileData")
            for place in ("call/run", "call/v2/run", "queue/join", "run/run"):
                answer = httpx.post(f"{app.url}gradio_api/{place}", content=text, headers=JSON)
                assert (answer.status_code, answer.json()) == (400, {"detail": REFUSAL})


def test_http_alone_is_enough(app):
    named = app.client.view_api(return_format="dict", print_info=False)["named_endpoints"]
    rest = [argument["parameter_default"] for argument in named["/run"]["parameters"]][1:]
    call = f"{app.url}gradio_api/call/run"
    event = httpx.post(call, json={"data": ["hi", *rest]}).json()["event_id"]
    found = httpx.get(f"{call}/{event}", timeout=30).text
    events = dict(block.split("\n", 1) for block in found.strip().split("\n\n"))
    answer = json.loads(events["event: complete"].removeprefix("data: "))[0]
    assert set(answer) == RUN_KEYS


def test_the_queue_cannot_be_skipped(app):
    assert httpx.post(f"{app.url}gradio_api/run/run", json={"data": ["hi"]}).status_code == 404


def test_calls_wait_for_each_other_and_for_the_page(slow):
    page = slow.worker.enter()
    jobs = [slow.client.submit(prompt="hi", max_new_tokens=6, api_name="/run") for _ in range(2)]
    wait_for(lambda: slow.worker.ahead(page) == 0 and all(job.outputs() for job in jobs), 20)
    assert {job.outputs()[-1]["state"] for job in jobs} <= {"loading", "waiting"}
    slow.worker.leave(page)
    assert [job.result()["new_tokens"] for job in jobs] == [6, 6]


def free(worker: ModelWorker) -> bool:
    """Whether a run that came now would have the model at once."""
    ticket = worker.enter()
    try:
        return worker.ahead(ticket) == 0
    finally:
        worker.leave(ticket)


def test_a_client_that_cancels_frees_the_model(slow):
    job = slow.client.submit(prompt="hi", max_new_tokens=1000, api_name="/run")
    wait_for(lambda: any(update["new_tokens"] for update in job.outputs()), 20)
    assert not free(slow.worker)
    job.cancel()
    wait_for(lambda: free(slow.worker), 20)


def test_a_client_that_goes_away_frees_the_model(slow):
    call = {"fn_index": 0, "session_hash": "gone", "data": ["hi"]}
    named = slow.client.view_api(return_format="dict", print_info=False)["named_endpoints"]
    call["data"] += [a["parameter_default"] for a in named["/run"]["parameters"][1:]]
    httpx.post(f"{slow.url}gradio_api/queue/join", json=call).raise_for_status()
    with httpx.stream("GET", f"{slow.url}gradio_api/queue/data?session_hash=gone") as sentence:
        for line in sentence.iter_lines():
            if "process_generating" in line:
                break
    wait_for(lambda: free(slow.worker), 30)


def test_a_call_waits_while_the_model_loads():
    load = HeldLoad()
    with closing(Served(load=load)) as served:
        job = served.client.submit(prompt="hi", max_new_tokens=3, api_name="/run")
        wait_for(lambda: bool(job.outputs()), 20)
        assert job.outputs()[0] == {"state": "loading", "text": "", "new_tokens": 0}
        load.gate.set()
        assert job.result()["new_tokens"] == 3


def test_where_loading_failed_a_call_says_so():
    def load(progress):
        raise ExplorerError("There are no weights: go online once.")

    with closing(Served(load=load)) as served, pytest.raises(AppError, match="go online once"):
        served.run()


def test_agents_find_two_tools_and_use_them(public):
    async def visit():
        url = f"{public.url}gradio_api/mcp/"
        async with (
            streamablehttp_client(url) as (reading, writing, _),
            ClientSession(reading, writing) as session,
        ):
            await session.initialize()
            tools = (await session.list_tools()).tools
            others = [await session.list_resources(), await session.list_prompts()]
            good = await session.call_tool("run", {"prompt": "hi", "max_new_tokens": 5})
            race = await session.call_tool("race", {"prompt": "hi", "max_new_tokens": 5})
            bad = await session.call_tool("run", {"prompt": "hi", "max_new_tokens": 257})
            return tools, others, good, race, bad

    with ThreadPoolExecutor(1) as thread:  # this one may hold the browser tests' event loop
        tools, others, good, race, bad = thread.submit(asyncio.run, visit()).result()
    assert {tool.name for tool in tools} == {"run", "race"}
    assert others[0].resources == others[1].prompts == []
    for tool in tools:
        assert len(tool.description) > 80
        assert tool.inputSchema["required"] == ["prompt"]
        assert all(setting["description"] for setting in tool.inputSchema["properties"].values())
    answer = json.loads(good.content[0].text)
    assert answer["new_tokens"] == 5
    assert json.loads(race.content[0].text)["identical"] is True
    assert bad.isError
    assert bad.content[0].text.startswith("At most 256 new tokens")


def test_there_are_no_tools_unless_they_are_asked_for(app, monkeypatch):
    assert httpx.post(f"{app.url}gradio_api/mcp/", json={}).status_code in (404, 405)
    monkeypatch.setenv("SPACE_ID", "someone/space")
    assert parser().parse_args([]).mcp is False
    assert parser().parse_args(["--mcp"]).mcp is True


def test_a_missing_package_is_one_line(monkeypatch, capsys):
    monkeypatch.setattr(start_module.importlib.util, "find_spec", lambda name: None)
    assert start_module.main(["--mcp"]) == 2
    assert "pip install -r requirements-mcp.txt" in capsys.readouterr().err
