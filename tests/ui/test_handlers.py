import threading
import time

import gradio as gr
import pytest

from explorer.errors import ExplorerError
from explorer.ui.engine import Engine
from explorer.ui.handlers import Handlers
from explorer.ui.limits import PRIVATE, PUBLIC
from explorer.ui.page import build_page
from explorer.ui.serve import build_app, parser
from explorer.ui.settings import SettingsInputs
from tests.ui.fakes import FakeExplorer

DEFAULTS = {
    "tree": "auto",
    "acceptance": "auto",
    "temperature": 0,
    "top_p": 1,
    "top_k": 0,
    "epsilon": 0.09,
    "delta": 0.3,
    "seed": 0,
    "max_new_tokens": 40,
    "system_prompt": "",
    "raw_prompt": False,
}


def handlers_of(racer=None, limits=PRIVATE, load=None) -> Handlers:
    engine = Engine(load or (lambda progress: racer or FakeExplorer()))
    engine.start()
    with gr.Blocks():
        return Handlers(build_page(limits), engine, limits)


def values(**changes: object) -> list[object]:
    given = DEFAULTS | changes
    return [given[name] for name in SettingsInputs.names()]


def finished(handlers: Handlers, prompt: str = "hi", **changes: object):
    """Run to the end; the session and everything that was sent."""
    sent = list(handlers.run(None, prompt, *values(**changes)))
    return sent[0][handlers.page.session], sent


def test_a_run_streams_text_and_ends_with_a_trace():
    handlers = handlers_of()
    session, sent = finished(handlers)
    page = handlers.page
    assert session.phase == "done"
    assert len(session.run.trace().new_token_ids) == 40
    assert sent[-1][page.save].interactive
    assert "Both lanes wrote the same tokens" in sent[-1][page.status]
    assert handlers.engine.enter().number == 1
    assert handlers.engine.ahead(handlers.engine.enter()) == 1  # the run has left the queue


def test_figures_are_sent_seldom():
    handlers = handlers_of(FakeExplorer(pace=0.02))
    _, sent = finished(handlers, max_new_tokens=100)
    page = handlers.page
    texts = sum(page.medusa_text in update for update in sent)
    trees = sum(page.tree in update for update in sent)
    assert texts > 2 * trees


def test_scrubbing_while_a_run_goes_on():
    handlers = handlers_of(FakeExplorer(pace=0.01))
    page = handlers.page
    run = handlers.run(None, "hi", *values())
    session = next(run)[page.session]
    while len(session.run.steps) < 4:
        next(run)
    update = handlers.seek(session, 2)
    assert (session.follow, session.shown_step()) == (False, 1)
    assert update[page.follow] is False
    assert "Step 2 of" in update[page.step_title]
    trees = sum(page.tree in update for update in list(run)[:-1])
    assert trees == 0  # the run leaves the view alone
    assert session.shown_step() == 1
    handlers.previous(session)
    assert session.shown_step() == 0
    handlers.previous(session)
    assert session.shown_step() == 0
    handlers.following(session)
    assert session.shown_step() == 1
    handlers.seek(session, 10_000)
    assert session.shown_step() == len(session.run.steps) - 1
    handlers.follow(session, True)
    assert session.follow


def test_choosing_a_node():
    handlers = handlers_of()
    session, _ = finished(handlers)
    handlers.seek(session, 1)
    update = handlers.choose(session, 1)
    assert "mx-node" in update[handlers.page.node]
    assert session.row == 1
    handlers.choose(session, 9999)  # a row that this step does not have
    assert handlers.choose(session, None) == {}


def test_handlers_before_the_first_run():
    handlers = handlers_of()
    assert handlers.seek(None, 3) == handlers.previous(None) == handlers.choose(None, 1) == {}
    handlers.stop(None)


def test_stop_ends_the_run():
    handlers = handlers_of(FakeExplorer(pace=0.02))
    run = handlers.run(None, "hi", *values(max_new_tokens=1000))
    session = next(run)[handlers.page.session]
    next(run)
    handlers.stop(session)
    last = list(run)[-1]
    assert session.phase == "stopped"
    assert "Stopped" in last[handlers.page.status]


def test_a_page_that_goes_away_frees_the_model():
    fake = FakeExplorer(pace=0.01)
    handlers = handlers_of(fake)
    run = handlers.run(None, "hi", *values())
    session = next(run)[handlers.page.session]
    while not session.run.steps:
        next(run)
    run.close()
    end = time.monotonic() + 5
    while fake.closed == 0 and time.monotonic() < end:
        time.sleep(0.01)
    assert fake.closed == 1
    assert finished(handlers)[0].phase == "done"


def test_the_second_run_waits_for_the_first():
    handlers = handlers_of(FakeExplorer(pace=0.01))
    page = handlers.page
    first, second = (handlers.run(None, "hi", *values()) for _ in range(2))
    mine = next(first)[page.session]
    assert "Waiting: 1 run" in next(second)[page.status]
    mine.stop()
    list(first)
    assert "Done" in list(second)[-1][page.status]


def test_a_new_run_of_a_tab_ends_its_last_one():
    handlers = handlers_of(FakeExplorer(pace=0.01))
    run = handlers.run(None, "hi", *values())
    session = next(run)[handlers.page.session]
    next(handlers.run(session, "again", *values()))
    assert session.ticket.cancel.is_set()


@pytest.mark.parametrize(
    ("prompt", "changes", "told"),
    [
        ("", {}, "prompt is empty"),
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
def test_bad_input_is_one_sentence_and_the_app_goes_on(prompt, changes, told):
    handlers = handlers_of(limits=PUBLIC)
    session, sent = finished(handlers, prompt, **changes)
    assert session.phase == "failed"
    assert told in sent[-1][handlers.page.status]
    assert "<img" not in sent[-1][handlers.page.status]
    assert finished(handlers)[0].phase == "done"


def test_a_run_before_the_model_is_loaded_waits_for_it():
    gate = threading.Event()

    def load(progress):
        progress("Downloading", 0.5)
        gate.wait(5)
        return FakeExplorer()

    handlers = handlers_of(load=load)
    run = handlers.run(None, "hi", *values())
    next(run)
    gate.set()
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
        app = build_app(Engine(lambda progress: FakeExplorer()), limits)
        kinds = {type(block) for block in app.blocks.values()}
        assert not kinds & {gr.File, gr.UploadButton, gr.Markdown, gr.Image, gr.MultimodalTextbox}
        assert all(fn.api_visibility == "private" for fn in app.fns.values())


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
