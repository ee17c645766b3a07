"""The Compare page's server side, with scripted races."""

from __future__ import annotations

import json

import pytest

from explorer.measuring.bench_report import BenchReport
from explorer.records.methods import METHODS
from explorer.records.paths import ASSETS
from explorer.ui.compare_page import setup
from explorer.ui.compare_request import MAX_FILE_CHARACTERS, built_in_prompts, checked
from explorer.ui.compare_session import CompareSession
from explorer.ui.limits import PRIVATE, PUBLIC
from explorer.ui.serve import replay
from tests.ui.compare_pages import ASKED, begun, handlers_of, messages
from tests.ui.fakes import HeldLoad, wait_for

RECORDED = ASSETS / "compare" / "recorded.json"


def test_every_finished_prompt_is_sent_once_and_the_last_message_ends_it():
    handlers = handlers_of()
    sent = messages(handlers, begun(handlers))
    events = [event for message in sent for event in message["events"]]
    assert events[0][0] == "prompts"
    assert [record["prompt"] for record in events[0][1]] == ASKED["own"]
    races = [race for kind, some in events if kind == "races" for race in some]
    assert [(race["number"], race["method"]) for race in races] == [
        (number, method) for number in (0, 1) for method in ("medusa", "prompt-lookup")
    ]
    reports = [report for kind, report in events if kind == "report"]
    assert len(reports) == reports[-1]["prompts"] == 2
    assert "races" not in reports[-1]
    assert sent[-1]["phase"] == "done"
    assert {message["run"] for message in sent} == {sent[0]["run"]}
    firsts = [message["first"] for message in sent]
    assert firsts == sorted(firsts)
    assert handlers.worker.ahead(handlers.worker.enter()) == 0  # it has left the queue


def test_a_browser_that_missed_something_gets_the_races_and_the_latest_report():
    handlers = handlers_of()
    run = begun(handlers)
    session = next(run)[handlers.page.session]
    list(run)
    again = json.loads(handlers.missed(session.key, 1))
    assert [kind for kind, _ in again["events"]] == ["races", "report"] * 2
    assert again["events"][1][1] is None  # an earlier report says nothing more
    assert again["events"][3][1]["prompts"] == 2
    assert json.loads(handlers.missed("someone else's", 0))["events"] == []


def test_cancel_keeps_what_is_done():
    handlers = handlers_of(pace=0.02)
    run = begun(handlers, own=["first", "second", "third"])
    session = None
    for update in run:
        session = update[handlers.page.session]
        if any(kind == "report" for kind, _ in session.packed):
            break
    handlers.stop(session)
    sent = messages(handlers, run)
    assert sent[-1]["phase"] == "stopped"
    reports = [sent for kind, sent in session.packed if kind == "report" and sent]
    assert 1 <= reports[-1]["prompts"] < 3
    handlers.stop(None)


def test_a_comparison_and_a_run_wait_for_each_other():
    handlers = handlers_of(pace=0.02)
    ticket = handlers.worker.enter()  # an Explore run
    run = begun(handlers)
    sent = messages(handlers, [next(run)])
    assert sent[0]["phase"] == "waiting"
    assert "Waiting: 1 run before yours" in sent[0]["text"]
    handlers.worker.leave(ticket)
    assert messages(handlers, run)[-1]["phase"] == "done"


def test_a_page_that_goes_away_frees_the_model():
    handlers = handlers_of(pace=0.02)
    run = begun(handlers)
    session = next(run)[handlers.page.session]
    while session.phase != "running":
        next(run)
    run.close()
    assert session.ticket.cancel.is_set()
    assert handlers.worker.ahead(handlers.worker.enter()) == 0


def test_a_new_comparison_of_a_tab_ends_its_last_one():
    handlers = handlers_of(pace=0.02)
    run = begun(handlers)
    session = next(run)[handlers.page.session]
    next(begun(handlers, session))
    assert session.ticket.cancel.is_set()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"methods": ["plain"]}, "at least one method"),
        ({"methods": ["telepathy"]}, "no method 'telepathy'"),
        ({"own": [" "]}, "prompts are empty"),
        ({"own": [], "builtin": ["nothing"]}, "no prompts"),
        ({"own": ["x"] * 7}, "at most 6"),
        ({"own": ["x" * 5000]}, "shorten"),
        ({"max_new_tokens": 97}, "between 1 and 96"),
        ({"max_new_tokens": 0}, "between 1 and 96"),
        ({"max_new_tokens": "many"}, "invalid request (max_new_tokens)"),
        ({"tree": "cartesian:9,9,5"}, "Choose one of the trees"),
        ({"file": "not json"}, "Line 1 of the file is not JSON"),
        ({"file": ""}, "no prompt in"),
        ({"file": "x" * (MAX_FILE_CHARACTERS + 1)}, "invalid request (file)"),
        ({"path": "/etc/passwd"}, "invalid request (path)"),
        ({"own": ["refuse"]}, "too long: shorten it"),
        ({"own": ["explode"]}, "failed unexpectedly (RuntimeError)"),
    ],
)
def test_bad_input_is_one_sentence_and_the_app_goes_on(changes, sentence):
    handlers = handlers_of(limits=PUBLIC)
    last = messages(handlers, begun(handlers, **changes))[-1]
    assert last["phase"] == "failed"
    assert sentence in last["text"]
    assert messages(handlers, begun(handlers))[-1]["phase"] == "done"


def test_no_message_holds_a_tag():
    handlers = handlers_of()
    sent = list(begun(handlers, own=["<b>quick</b> differ"]))
    assert all("<" not in update[handlers.page.compare] for update in sent)
    events = [event for m in messages(handlers, sent) for event in m["events"]]
    assert events[0][1][0]["prompt"] == "<b>quick</b> differ"


def test_what_the_model_refuses_has_sent_nothing():
    handlers = handlers_of()
    sent = messages(handlers, begun(handlers, own=["refuse"]))
    assert sent[-1]["phase"] == "failed"
    assert all(message["events"] == [] for message in sent)


def test_where_a_text_differs_is_shown():
    handlers = handlers_of()
    sent = messages(handlers, begun(handlers, own=["quick differ"]))
    races = [race for m in sent for kind, some in m["events"] if kind == "races" for race in some]
    found = {race["method"]: race["difference"] for race in races}
    assert found["medusa"]["plain_token"] != found["medusa"]["method_token"]
    assert found["prompt-lookup"] is None


def test_a_file_brings_its_ids_and_categories():
    line = '{"id": "a", "category": "c", "prompt": "p"}\n'
    found = checked(ASKED | {"own": [], "file": line * 2}, PRIVATE)
    assert found.prompts == [{"id": "a", "category": "c", "prompt": "p"}] * 2


def test_before_the_model_is_loaded_it_waits_and_says_so():
    load = HeldLoad()
    handlers = handlers_of(load=load)
    wait_for(lambda: handlers.worker.status.text == "Downloading")
    worker = json.loads(handlers.tick()[handlers.page.compare])["engine"]
    assert (worker["phase"], worker["fraction"]) == ("loading", 0.5)
    run = begun(handlers)
    assert "starts by itself" in messages(handlers, [next(run)])[0]["text"]
    load.gate.set()
    assert messages(handlers, run)[-1]["phase"] == "done"


def test_replay_says_in_one_sentence_that_a_model_is_needed():
    handlers = handlers_of(load=replay)
    last = messages(handlers, begun(handlers))[-1]
    assert last["phase"] == "failed"
    worker = json.loads(handlers.tick()[handlers.page.compare])["engine"]
    assert "needs a model" in worker["text"]
    assert worker["text"].count(". ") == 0


def test_time_left_is_shown_only_while_it_runs():
    session = CompareSession()
    assert json.loads(session.message())["left"] is None
    session.start()
    session.share = 0.5
    assert json.loads(session.message())["left"] == pytest.approx(0, abs=5)
    session.phase = "done"
    assert json.loads(session.message())["left"] is None


def test_built_in_prompts_cover_every_kind_and_fit_a_public_host():
    kinds = {record["category"] for record in built_in_prompts()}
    assert kinds == {"chat", "code", "extract", "maths", "summarise", "story"}
    for kind in kinds:
        ids = [record["id"] for record in built_in_prompts() if record["category"] == kind]
        assert len(ids) >= 4
        checked(
            {"methods": ["medusa"], "builtin": ids[:6], "max_new_tokens": 96, "tree": "auto"},
            PUBLIC,
        )
    assert json.dumps(setup(PUBLIC))


def test_without_a_model_there_is_a_recorded_comparison():
    saved = json.loads(RECORDED.read_text(encoding="utf-8"))
    report = BenchReport.model_validate(saved)
    assert report.prompts == len(saved["asked_prompts"]) >= 5
    assert {race.number for race in report.races} == set(range(report.prompts))
    assert {*report.methods, *report.unavailable} == set(METHODS)
    computed = report.model_dump(mode="json")  # with the sentences that the figures bear today
    assert saved == computed | {"asked_prompts": saved["asked_prompts"]}
    assert report.machine
    assert report.created
    assert RECORDED.stat().st_size < 200_000
