"""Questions about attention weights that a browser asks: answered, limited, never an error."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

import gradio as gr
import pytest

from explorer.records.attention import AttentionHead, AttentionQuestion, OtherModelError, packed
from explorer.records.errors import ExplorerError
from explorer.ui.attention import AT_ONCE, PLACES, AttentionDesk
from explorer.ui.handlers import Handlers
from explorer.ui.limits import PRIVATE, PUBLIC
from explorer.ui.serve import replay
from explorer.ui.worker import ModelWorker
from tests.tiny_lab import tiny_lab
from tests.ui.explore_pages import values
from tests.ui.fakes import FakeLab

QUESTION = {
    "model": "tiny",
    "backend": "fp32",
    "step": 2,
    "prefix": [1, 2, 3],
    "token_ids": [4, 5],
    "parents": [-1, 0],
}
ROWS = [[0.0, 0.5, 0.5], [0.1, 0.4, 0.25, 0.25]]


class Weighing(FakeLab):
    """Answers every question with the same weights, and remembers where it was asked."""

    def __init__(self, **more: object) -> None:
        super().__init__(**more)
        self.threads: list[str] = []

    def weigh(self, question: AttentionQuestion) -> list[AttentionHead]:
        self.threads.append(threading.current_thread().name)
        if question.model == "explode":
            raise RuntimeError("a bug")
        if question.model == "another":
            raise OtherModelError("The run was made with another model.")
        of = {"step": question.step, "layer": 1, "head": 0, "layers": 2, "heads": 2}
        return [AttentionHead(**of, slots=[0], weights=packed(ROWS))]


def loaded(load) -> ModelWorker:
    worker = ModelWorker(load)
    worker.start()
    end = time.monotonic() + 30
    while worker.status.phase == "loading" and time.monotonic() < end:
        time.sleep(0.01)
    return worker


def desk_of(lab=None, limits=PRIVATE) -> AttentionDesk:
    return AttentionDesk(loaded(lambda progress: lab or Weighing()), limits)


def ask(desk: AttentionDesk, **changes: object) -> dict:
    return json.loads(desk.answer(json.dumps(QUESTION | changes)))


def test_a_question_is_answered_on_the_models_own_thread():
    lab = Weighing()
    (head,) = ask(desk_of(lab))["heads"]
    assert AttentionHead.model_validate(head).rows([0, 1])[1] == pytest.approx(ROWS[1], abs=1e-5)
    assert all(name.startswith("model") for name in lab.threads)


def test_a_loaded_model_answers_with_all_heads_of_the_layer():
    heads = ask(desk_of(tiny_lab()), layer=1, head=1)["heads"]
    assert [(head["layer"], head["head"]) for head in heads] == [(1, 1), (1, 0)]
    found = ask(desk_of(tiny_lab()), model="Llama")
    assert "made with Llama (fp32), but tiny (fp32) is loaded" in found["problem"]
    assert found["able"] is False


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "[]",
        "{}",
        '{"prefix": ' + "[" * 5000,
        json.dumps(QUESTION | {"parents": [-1, 1]}),
        json.dumps(QUESTION | {"prefix": [-4]}),
        json.dumps(QUESTION | {"prefix": ["<img src=x>"]}),
        json.dumps(QUESTION | {"token_ids": [1] * 600, "parents": [-1] + [0] * 599}),
        json.dumps(QUESTION | {"prefix": [1] * 400_000}),
        json.dumps(QUESTION | {"path": "/etc/passwd"}),
        None,
        ["a", "list"],
    ],
)
def test_a_hostile_question_is_one_sentence(text):
    lab = Weighing()
    written = json.loads(desk_of(lab).answer(text))
    assert written == {
        "problem": "The request does not describe a step: open the trace again.",
        "able": True,
    }
    assert lab.threads == []


def test_a_bug_is_one_sentence_too():
    assert "could not be computed" in ask(desk_of(), model="explode")["problem"]
    assert ask(desk_of(), model="another")["able"] is False


def test_a_public_host_computes_for_short_texts_only():
    limit = PUBLIC.attention_tokens
    assert "heads" in ask(desk_of(limits=PUBLIC), prefix=[1] * (limit - 2))
    assert f"up to {limit:,} tokens" in ask(desk_of(limits=PUBLIC), prefix=[1] * limit)["problem"]
    assert "heads" in ask(desk_of(limits=PRIVATE), prefix=[1] * limit)


def test_while_a_run_goes_on_only_small_questions_are_answered():
    worker = loaded(lambda progress: Weighing())
    desk = AttentionDesk(worker, PRIVATE)
    ticket = worker.enter()
    assert "heads" in ask(desk)
    assert "busy with a run" in ask(desk, prefix=[1] * AT_ONCE)["problem"]
    worker.leave(ticket)
    assert "heads" in ask(desk, prefix=[1] * AT_ONCE)


def test_a_crowd_of_questions_is_turned_away():
    gate = threading.Event()

    class Slow(Weighing):
        def weigh(self, question):
            gate.wait(30)
            return super().weigh(question)

    desk = desk_of(Slow())
    with ThreadPoolExecutor(PLACES + 1) as pool:
        asked = [pool.submit(ask, desk) for _ in range(PLACES + 1)]
        (refused,), others = wait(asked, return_when=FIRST_COMPLETED)
        gate.set()
    assert "busy with other questions" in refused.result()["problem"]
    assert all("heads" in other.result() for other in others)


def test_a_question_between_two_turns_leaves_the_run_as_it_is():
    worker = loaded(lambda progress: Weighing(pace=0.002))
    with gr.Blocks():
        handlers = Handlers(worker, PRIVATE)
    desk, sent = AttentionDesk(worker, PRIVATE), []
    for update in handlers.run(None, "hi", *values()):
        sent.append(update)
        assert "heads" in ask(desk)
    session = sent[0][handlers.page.session]
    assert session.phase == "done"
    assert session.tokens[0] == session.tokens[1]
    assert len(session.tokens[0]) == 40


def test_without_a_model_the_sentence_says_so():
    found = ask(AttentionDesk(loaded(replay), PRIVATE))
    assert "this app has none" in found["problem"]
    assert found["able"] is False
    gate = threading.Event()
    worker = ModelWorker(lambda progress: gate.wait(5) and Weighing())
    worker.start()
    found = ask(AttentionDesk(worker, PRIVATE))
    gate.set()
    assert "still loading" in found["problem"]
    assert found["able"] is True


def test_a_failed_load_is_no_model():
    def load(progress):
        raise ExplorerError("There are no weights.")

    assert ask(AttentionDesk(loaded(load), PRIVATE))["able"] is False


def test_the_page_offers_it_to_the_browser():
    with gr.Blocks():
        handlers = Handlers(loaded(lambda progress: Weighing()), PRIVATE)
    function = handlers.page.explorer.attention_weights
    assert function._is_server_fn
    assert "heads" in json.loads(function(json.dumps(QUESTION)))
