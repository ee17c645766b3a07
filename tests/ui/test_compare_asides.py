"""What is measured besides a comparison: batches, and who knew a reply first."""

from __future__ import annotations

import gradio as gr

from explorer.records.errors import ExplorerError
from explorer.ui.compare_handlers import CompareHandlers
from explorer.ui.limits import PRIVATE
from explorer.ui.worker import ModelWorker
from tests.ui.compare_fakes import comparison
from tests.ui.compare_pages import ASKED, begun, handlers_of, messages
from tests.ui.fakes import FakeLab


class Found:
    """A report, as far as the page's server side looks into it."""

    def model_dump(self, mode):
        return {"sizes": []}


def test_batches_are_measured_in_the_same_queue_and_leave_the_comparison_alone():
    asked = {}

    def batches(lab, progress, **given):
        asked.update(given)
        progress("round 1 of 1", 0.5)
        return Found()

    worker = ModelWorker(lambda progress: FakeLab(), comparison, batches)
    worker.start()
    with gr.Blocks():
        handlers = CompareHandlers(worker, PRIVATE)
    ticket = worker.enter()
    run = begun(handlers, aside="batches", methods=["plain"])
    assert messages(handlers, [next(run)])[0]["phase"] == "waiting"
    worker.leave(ticket)
    last = messages(handlers, run)[-1]
    assert (last["phase"], last["aside"]) == ("done", "batches")
    assert last["events"] == [["batches", {"sizes": []}]]
    assert last["share"] == 0.5
    assert [record["prompt"] for record in asked["prompts"]] == ASKED["own"]


def test_batches_that_are_refused_leave_the_comparison_alone():
    handlers = handlers_of()
    (found,) = messages(handlers, begun(handlers, aside="batches", own=[" "]))
    assert (found["phase"], found["aside"], found["events"]) == ("failed", "batches", [])
    assert "are empty" in found["text"]


def test_batches_that_are_stopped_say_so():
    def batches(lab, cancel, **given):
        cancel.wait(5)
        raise ExplorerError("Measuring batches was stopped before anything was measured.")

    worker = ModelWorker(lambda progress: FakeLab(), comparison, batches)
    worker.start()
    with gr.Blocks():
        handlers = CompareHandlers(worker, PRIVATE)
    run = begun(handlers, aside="batches")
    session = next(run)[handlers.page.session]
    handlers.stop(session)
    last = messages(handlers, run)[-1]
    assert (last["phase"], last["text"][:9]) == ("stopped", "Measuring")


def test_the_first_prompt_is_asked_who_knew_it_first_within_the_settings():
    asked = {}

    def overlap(lab, progress, **given):
        asked.update(given)
        return Found()

    worker = ModelWorker(lambda progress: FakeLab(), overlap=overlap)
    worker.start()
    with gr.Blocks():
        handlers = CompareHandlers(worker, PRIVATE)
    last = messages(handlers, begun(handlers, aside="overlap"))[-1]
    assert (last["phase"], last["aside"]) == ("done", "overlap")
    assert last["events"] == [["overlap", {"sizes": []}]]
    assert asked["prompt"] == ASKED["own"][0]
    assert asked["methods"] == [name for name in ASKED["methods"] if name != "plain"]
    assert asked["settings"].max_new_tokens == ASKED["max_new_tokens"]


def test_an_aside_of_another_name_is_an_invalid_request():
    handlers = handlers_of()
    (found,) = messages(handlers, begun(handlers, aside="<b>"))
    assert (found["phase"], found["aside"]) == ("failed", "")
    assert "invalid request (aside)" in found["text"]
