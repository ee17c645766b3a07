"""The client against recorded responses of the real server: vLLM 0.32.0 for a CPU, with heads."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from explorer.records.serving import Speculation
from explorer.serving.client import Ask, Patience, ServerClient
from explorer.serving.counters import read_counters
from explorer.serving.load import Load
from tests.serving.fake_server import running

FOLDER = Path(__file__).with_name("recorded")
QUICK = Patience(connect=1.0, silence=2.0, answer=5.0, retries=0)
ASK = Ask("a", "Count from one to ten.", 24)
# What the counters of the same server say of the recorded request.
COUNTED = Speculation(steps=13, drafted=52, accepted_at=[6, 4, 0, 0])


def recording(name: str) -> bytes:
    return (FOLDER / name).read_bytes()


@pytest.fixture
def replaying():
    """Serves the recordings; `state` says which stream, and whether it has been asked."""
    state = {"stream": "stream.txt", "status": 200, "asked": 0}

    class Handler(BaseHTTPRequestHandler):
        pages = {  # noqa: RUF012
            "/v1/models": "models.json",
            "/version": "version.json",
            "/server_info?config_format=json": "server_info.json",
        }

        def do_GET(self):
            name = self.pages.get(self.path)
            if self.path == "/metrics":
                name = "metrics_after.txt" if state["asked"] else "metrics_before.txt"
            self.answer(200 if name else 404, recording(name) if name else b"{}")

        def do_POST(self):
            state["asked"] += 1
            self.rfile.read(int(self.headers["content-length"]))
            self.answer(state["status"], recording(state["stream"]))

        def answer(self, status, body):
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    with running(Handler) as address, ServerClient(address, QUICK) as client:
        yield client, state


def test_what_the_server_is(replaying):
    info = replaying[0].info()
    assert (info.engine, info.models, info.method) == ("vLLM 0.32.0", ["smollm2"], "medusa")
    assert info.counts_drafts


def test_an_answer_and_what_its_steps_accepted(replaying):
    answer = replaying[0].answer("smollm2", ASK, token_ids=True)
    assert answer.problem is None
    assert answer.text == "1. 1\n2. 2\n3. 3\n4. 4\n5. 5"
    assert answer.tokens == 24
    assert answer.speculation == COUNTED
    assert answer.speculation.tokens_per_step == 1.7692307692307692  # vLLM's own figure
    assert answer.accepted == [0, 1, 0, 0, 2, 1, 2, 0, 0, 2, 0, 0, 2]
    # the prompt's own pass gives one token; each step its accepted drafts and one more
    assert [len(ids) for ids in answer.token_ids] == [1, *(1 + n for n in answer.accepted)]
    assert len(answer.prompt_ids) == 36


def test_counters_and_responses_agree():
    before, after = (
        read_counters(recording(f"metrics_{when}.txt").decode(), "smollm2")
        for when in ("before", "after")
    )
    assert after.since(before) == COUNTED


def test_a_load_reads_the_counters_where_responses_report_nothing(replaying):
    client, state = replaying
    state["stream"] = "stream_plain.txt"  # of the server without speculation: no metrics
    load = Load(client, "smollm2", [{"id": "a", "prompt": "Count."}], 1, 1, 24)
    list(load.answers(threading.Event()))
    figures = load.figures()
    assert (figures.tokens, figures.failed) == (24, 0)
    assert (figures.source, figures.speculation) == ("counters", COUNTED)


@pytest.mark.parametrize(
    ("name", "status", "said"),
    [
        ("wrong_model.json", 404, "The model `other` does not exist. Valid aliases: smollm2."),
        ("too_long.json", 400, "max_tokens=99999 cannot be greater than max_model_len=2048."),
        ("bad.json", 400, "max_tokens must be at least 1, got 0."),
    ],
)
def test_refusals_in_the_servers_words(replaying, name, status, said):
    client, state = replaying
    state.update(stream=name, status=status)
    problem = client.answer("smollm2", ASK).problem
    assert problem.startswith(f"The server answered {status}, “{said}")
    assert json.loads(recording(name))["error"]["message"].startswith(said)
