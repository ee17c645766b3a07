"""A run of the Explore page: what it streams, how it waits, stops and fails."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time

import gradio as gr
import pytest

from explorer.records.errors import ExplorerError
from explorer.ui.examples import CHANGED, EXAMPLES
from explorer.ui.limits import PRIVATE, PUBLIC
from explorer.ui.serve import build_app, replay
from explorer.ui.start import parser
from explorer.ui.worker import ModelWorker
from tests.ui.explore_pages import finished, handlers_of, messages, values
from tests.ui.fakes import FakeLab, HeldLoad


def test_a_run_streams_every_event_once_and_in_order():
    handlers = handlers_of()
    session, sent = finished(handlers)
    page, received = handlers.page, messages(handlers, sent)
    assert session.phase == "done"
    assert "Both methods wrote the same tokens" in sent[-1][page.status]
    firsts = [message["first"] for message in received]
    lengths = [len(message["events"]) for message in received]
    assert firsts == [0, *itertools.accumulate(lengths)][:-1]
    assert {message["run"] for message in received} == {session.key}
    assert [message["live"] for message in received] == [True] * (len(received) - 1) + [False]
    steps = [event[2] for m in received for event in m["events"] if event[:2] == ["step", 0]]
    assert sum(len(step["e"]) for step in steps) == 40 == len(session.tokens[0])
    assert handlers.worker.ahead(handlers.worker.enter()) == 0  # the run has left the queue


def test_the_first_tokens_are_sent_at_once():
    handlers = handlers_of(FakeLab(pace=0.01))
    run = handlers.run(None, "hi", *values())
    heard: list[dict] = []
    while not any(event[0] == "step" for message in heard for event in message["events"]):
        heard += messages(handlers, [next(run)])
    assert all(len(message["events"]) == 1 for message in heard)


def test_a_browser_that_missed_events_gets_them():
    handlers = handlers_of()
    session, sent = finished(handlers)
    events = [event for message in messages(handlers, sent) for event in message["events"]]
    again = json.loads(handlers.missed(session.key, 5))
    assert (again["first"], again["events"]) == (5, events[5:])
    assert json.loads(handlers.missed("someone else's", 0))["events"] == []


def test_stop_ends_the_run():
    handlers = handlers_of(FakeLab(pace=0.02))
    run = handlers.run(None, "hi", *values(max_new_tokens=1000))
    session = next(run)[handlers.page.session]
    next(run)
    handlers.stop(session)
    last = list(run)[-1]
    assert session.phase == "stopped"
    assert "Stopped" in last[handlers.page.status]
    handlers.stop(None)


def test_a_page_that_goes_away_frees_the_model():
    fake = FakeLab(pace=0.01)
    handlers = handlers_of(fake)
    run = handlers.run(None, "hi", *values())
    session = next(run)[handlers.page.session]
    while not session.tokens[0]:
        next(run)
    run.close()
    end = time.monotonic() + 5
    while fake.closed == 0 and time.monotonic() < end:
        time.sleep(0.01)
    assert fake.closed == 1
    assert finished(handlers)[0].phase == "done"


def test_the_second_run_waits_for_the_first():
    handlers = handlers_of(FakeLab(pace=0.01))
    page = handlers.page
    first, second = (handlers.run(None, "hi", *values()) for _ in range(2))
    mine = next(first)[page.session]
    assert "Waiting: 1 run" in next(second)[page.status]
    mine.stop()
    list(first)
    assert "Done" in list(second)[-1][page.status]


def test_a_new_run_of_a_tab_ends_its_last_one():
    handlers = handlers_of(FakeLab(pace=0.01))
    run = handlers.run(None, "hi", *values())
    session = next(run)[handlers.page.session]
    next(handlers.run(session, "again", *values()))
    assert session.ticket.cancel.is_set()


@pytest.mark.parametrize(
    ("prompt", "changes", "sentence"),
    [
        ("", {}, "prompt is empty"),
        (None, {}, "prompt is empty"),
        ("hi", {"temperature": 1, "acceptance": "greedy"}, "Greedy acceptance needs"),
        ("hi", {"seed": -1}, "seed"),
        ("hi", {"seed": None}, "seed"),
        ("x" * 5000, {}, "shorten"),
        ("hi", {"max_new_tokens": 257}, "At most 256"),
        ("hi", {"tree": "cartesian:9,9,5"}, "Choose one of the trees"),
        ("refuse", {}, "too deep"),
        ("explode", {}, "failed unexpectedly (RuntimeError)"),
    ],
)
def test_bad_input_is_one_sentence_and_the_app_goes_on(prompt, changes, sentence):
    handlers = handlers_of(limits=PUBLIC)
    session, sent = finished(handlers, prompt, **changes)
    assert session.phase == "failed"
    assert sentence in sent[-1][handlers.page.status]
    assert "<img" not in sent[-1][handlers.page.status]
    assert finished(handlers)[0].phase == "done"


def test_a_run_before_the_model_is_loaded_says_so_and_waits_for_it():
    load = HeldLoad()
    handlers = handlers_of(load=load)
    run = handlers.run(None, "hi", *values())
    text = next(run)[handlers.page.status]
    load.gate.set()
    assert "starts by itself when the model is ready" in text
    assert "Done" in list(run)[-1][handlers.page.status]


def test_a_load_failure_is_shown_and_a_run_says_it_again():
    def load(progress):
        raise ExplorerError("There are no weights: go online once.")

    handlers = handlers_of(load=load)
    session, sent = finished(handlers)
    assert session.phase == "failed"
    assert "go online once" in sent[-1][handlers.page.status]
    update = handlers.tick(None)
    assert "no model" in update[handlers.page.header]
    assert update[handlers.page.loading].active is False


def test_no_component_takes_a_file_or_renders_markdown():
    for limits in (PRIVATE, PUBLIC):
        app = build_app(ModelWorker(lambda progress: FakeLab()), limits)
        kinds = {type(block) for block in app.blocks.values()}
        assert not kinds & {gr.File, gr.UploadButton, gr.Markdown, gr.Image, gr.MultimodalTextbox}
        public = {fn.api_name for fn in app.fns.values() if fn.api_visibility != "private"}
        assert public == {"run", "race"}


def test_every_example_is_allowed_on_a_public_host():
    handlers = handlers_of(limits=PUBLIC)
    for example in EXAMPLES:
        changes = dict(zip(CHANGED, example.changes(), strict=True))
        assert finished(handlers, example.prompt, **changes)[0].phase == "done", example.name


def test_options(monkeypatch):
    monkeypatch.delenv("SPACE_ID", raising=False)
    args = parser().parse_args(
        [
            "--host",
            "0.0.0.0",
            "--port",
            "80",
            "--model",
            "a/b",
            "--heads",
            "c/d",
            "--backend",
            "int4",
            "--device",
            "cpu",
        ]
    )
    assert (args.host, args.port, args.model, args.heads) == ("0.0.0.0", 80, "a/b", "c/d")
    assert not args.public
    monkeypatch.setenv("SPACE_ID", "someone/space")
    assert parser().parse_args([]).public


def test_replay_needs_no_model_and_says_what_it_is_for():
    assert parser().parse_args(["--replay"]).replay
    handlers = handlers_of(load=replay)
    session, sent = finished(handlers)
    assert session.phase == "failed"
    assert "Recorded runs only" in sent[-1][handlers.page.status]


def test_the_page_needs_no_torch():
    code = "import sys, explorer.ui.serve; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_run_that_is_no_longer_on_view_is_neither_told_of_nor_continued():
    handlers = handlers_of()
    session, _ = finished(handlers)
    page = handlers.page
    left = handlers.leave(session)
    assert "Done" not in left[page.status]
    assert "Ready" in left[page.status]
    assert not left[page.go_on].interactive
    session.phase = "running"  # one that still goes on comes back by itself
    assert handlers.leave(session)[page.session] is session
