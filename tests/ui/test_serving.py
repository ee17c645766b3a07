"""The Serve page's handlers: runs against fake servers, baselines, cancel, the public page."""

from __future__ import annotations

import json

import gradio as gr
import pytest

from explorer.figures import serving as charts
from explorer.figures import serving_words
from explorer.records.serving import (
    Answer,
    EngineRow,
    LoadFigures,
    Percentiles,
    ServerInfo,
    ServingRecord,
    Speculation,
)  # fmt: skip
from explorer.serving.recorded import FILE, recorded
from explorer.ui import serving_panels
from explorer.ui.limits import PRIVATE, PUBLIC
from explorer.ui.serving_handlers import ServingHandlers
from explorer.ui.serving_page import LOAD, PROMPT, SWEEP
from explorer.ui.serving_results import rows_of
from explorer.ui.serving_session import ServingSession
from explorer.ui.serving_steps import steps_message
from explorer.ui.worker import ModelWorker
from tests.serving.fake_server import Fake, serving
from tests.ui.fakes import FakeLab

EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture
def handlers():
    with gr.Blocks():
        yield ServingHandlers(ModelWorker(lambda _: FakeLab()), PRIVATE)


def run(handlers, session, address, baseline="", prompt="Count.", kind=PROMPT, at=2, count=4):
    """All updates of a run: the status lines, and the last value of everything."""
    found, last = [], {}
    asked = (session, address, baseline, prompt, kind, at, count, 16)
    for update in handlers.run(*asked):
        last |= update
        if handlers.page.status in update:
            found.append(update[handlers.page.status])
    return found, last


def test_one_prompt_and_its_steps(handlers):
    session = ServingSession()
    with serving(Fake()) as address:
        found, last = run(handlers, session, address)
    page = handlers.page
    assert "mx-done" in found[-1]
    assert "vLLM 0.32.0 serves fake." in found[-1]
    assert "2.00 tokens per step over 3 steps, from each response." in last[page.figures]
    steps = json.loads(last[page.steps])
    assert steps["first"] == "One"
    assert steps["steps"] == [[2, 3, " two"], [0, 1, " three"], [1, 2, " four"]]
    assert steps["drafts"] == 3
    assert "a chain of 3" in last[page.rows]
    assert last[page.acceptance].data[0].y == (2 / 3, 1 / 3, 0.0)


def test_a_load_beside_its_baseline(handlers):
    session = ServingSession()
    bare = Fake(pause=0.02, counts=False, reports=False)
    with serving(Fake(pause=0.01)) as ours, serving(bare) as base:
        found, last = run(handlers, session, ours, base, kind=LOAD)
    ours, plain = session.speculative[2], session.plain[2]
    assert ours.requests == plain.requests == 4
    assert ours.tokens == plain.tokens > 0
    assert ours.speculation.steps > 0
    assert plain.speculation is None  # the baseline counts no drafts
    ratio = f"<td>{ours.tokens_per_second / plain.tokens_per_second:.2f}×</td>"
    assert ratio in last[handlers.page.figures]
    assert any("has answered" in line and "width:" in line for line in found)
    assert len(last[handlers.page.gain].data) == 2


def test_a_sweep_measures_every_level(handlers):
    session = ServingSession()
    with serving(Fake(pause=0.001)) as ours:
        run(handlers, session, ours, kind=SWEEP)
    assert list(session.speculative) == [1, 2, 4, 8, 16]
    assert session.speculative[16].requests == 16


def test_the_same_server_restarted_is_compared_with_what_was_kept(handlers):
    session = ServingSession()
    with serving(Fake(pause=0.02, counts=False, reports=False)) as address:
        run(handlers, session, address)
        handlers.keep(session)
        assert (session.speculative, list(session.plain)) == ({}, [1])
        found, last = run(handlers, session, address)
    assert list(session.plain) == [1]
    assert "the baseline at 1 request at a time" in last[handlers.page.figures]
    assert "It counts no drafts" in found[-1]


def test_another_server_begins_a_new_table(handlers):
    session = ServingSession()
    with serving(Fake()) as one, serving(Fake(model="other")) as other:
        run(handlers, session, one, kind=LOAD)
        run(handlers, session, other)
    assert list(session.speculative) == [1]


@pytest.mark.parametrize(
    ("fake", "said"),
    [
        (Fake(faults=[500] * 9), "answered 500"),
        (Fake(models={"data": []}), "lists no models"),
        (Fake(breaks_after=1), "broke off"),
        (Fake(refuses={"message": EVIL}), "&lt;img"),
    ],
)
def test_what_goes_wrong_is_a_sentence_and_the_page_goes_on(handlers, fake, said):
    with serving(fake) as address:
        found, last = run(handlers, ServingSession(), address)
    assert "mx-failed" in found[-1]
    assert said in found[-1]
    assert "<img" not in found[-1]
    assert last[handlers.page.inputs.run].interactive


def test_bad_input_opens_nothing(handlers):
    for address, prompt in (("file:///etc/passwd", "x"), ("", "x"), ("127.0.0.1:1", "  ")):
        found, _ = run(handlers, ServingSession(), address, prompt=prompt)
        assert "mx-failed" in found[-1]


def test_check_says_what_answers(handlers):
    with serving(Fake(version=None, counts=False)) as address:
        said = handlers.check(address)[handlers.page.status]
    assert "An OpenAI-compatible server serves fake." in said
    assert "no address of a server" in handlers.check("ftp://x")[handlers.page.status]


def test_a_cancel_keeps_what_had_come(handlers):
    session = ServingSession()
    with serving(Fake(pause=0.05)) as address:
        going = handlers.run(session, address, "", "", LOAD, 1, 50, 16)
        for _ in going:
            if session.speculative:
                handlers.stop(session)
                break
        text = [update.get(handlers.page.status, "") for update in going]
    assert any("Cancelled: what had come stays." in line for line in text)
    assert 0 < session.speculative[1].requests < 50
    assert session.speculative[1].failed == 0


def test_hostile_text_is_escaped_everywhere():
    session = ServingSession(info=ServerInfo(
        address="http://x", engine=EVIL, models=[EVIL], counts_drafts=True, method=EVIL
    ))  # fmt: skip
    row = EngineRow(engine=EVIL, shape=EVIL, speculation=Speculation(
        steps=1, drafted=1, accepted_at=[1]
    ))  # fmt: skip
    html = serving_panels.rows(EVIL, [row]) + serving_panels.figures(EVIL, {}, {})
    answer = Answer(id="a", prompt=EVIL, pieces=[EVIL], token_ids=[], arrivals=[0.1])
    assert "<img" not in html + steps_message(answer)
    assert session.info.models == [EVIL]


def test_steps_whose_text_the_server_joined_have_none():
    answer = Answer(
        id="a", prompt="p", pieces=["all of it"], token_ids=[], arrivals=[1.0], accepted=[1, 0],
        speculation=Speculation(steps=2, drafted=8, accepted_at=[1, 0, 0, 0]),
    )  # fmt: skip
    written = json.loads(steps_message(answer))
    assert written["first"] == "all of it"
    assert written["steps"] == [[1, 2, ""], [0, 1, ""]]
    assert (
        "detailed" in json.loads(steps_message(answer.model_copy(update={"accepted": []})))["note"]
    )
    assert json.loads(steps_message(None))["note"] == "No request yet."


def test_it_decodes_the_same_prompts_here(handlers):
    worker = handlers.worker
    worker.lab, session = FakeLab(), ServingSession()
    with serving(Fake()) as address:
        run(handlers, session, address)
    found = list(handlers.here(session))
    assert "see the last table" in "".join(u.get(handlers.page.status, "") for u in found)
    rows = next(u[handlers.page.rows] for u in found if handlers.page.rows in u)
    assert "this explorer, int4" in rows
    assert "takes each head's first guess only" in rows.replace("&#x27;", "'")


def test_both_rows_are_of_the_same_prompts(handlers):
    handlers.worker.lab, session = FakeLab(), ServingSession()
    with serving(Fake()) as address:
        run(handlers, session, address)
        run(handlers, session, address, kind=LOAD, count=10)
        list(handlers.here(session))
        ours, theirs = rows_of(session)
        assert len(session.prompts_here) == 8
        assert theirs.speculation.steps == 8 * 3  # the fake needs three steps for an answer
        assert theirs.tokens_per_second is None  # two requests at a time
        assert ours.engine.startswith("this explorer")
        run(handlers, session, address)  # other prompts: what was decoded here is of none of them
    (alone,) = rows_of(session)
    assert alone.speculation.steps == 3
    assert alone.tokens_per_second is not None


@pytest.mark.parametrize("number", [None, [], "1", -1, 10**30, 0.5])
def test_an_answer_that_is_not_there_shows_none(handlers, number):
    update = handlers.shown(ServingSession(), number)
    assert update == {handlers.page.steps: steps_message(None)}


def test_a_public_page_asks_nobody():
    with gr.Blocks():
        public = ServingHandlers(ModelWorker(lambda _: FakeLab()), PUBLIC)
    assert public.page.inputs is None


def figures(level, rate, speculation=None):
    times = Percentiles(p50=0.01, p90=0.02, p99=0.03)
    return LoadFigures(
        concurrency=level, requests=2, failed=0, tokens=int(10 * rate), seconds=10.0,
        first_token=times, gap=times, per_token=times, mean_per_token=0.01,
        speculation=speculation, source="counters" if speculation else None,
    )  # fmt: skip


def test_the_gain_in_words():
    plain = [figures(1, 20), figures(4, 60), figures(16, 100)]
    fading = [figures(1, 30), figures(4, 63), figures(16, 50)]
    words = serving_words.gain_words(fading, plain)
    assert words.startswith("The gain fades with the load. 1.50× the baseline at 1 request")
    assert "30.0 against 20.0 tokens/s; 1.05× at 4, 0.50× at 16." in words
    assert words.endswith("From 16 at a time it is a slowdown.")
    assert serving_words.gain_words(fading, []) is None
    only = serving_words.gain_words([figures(8, 5)], [figures(8, 10)])
    assert only == "0.50× the baseline at 8 requests at a time: 5.0 against 10.0 tokens/s."


def test_small_differences_of_single_measurements_are_none():
    plain = [figures(1, 20), figures(2, 40), figures(4, 60)]
    words = serving_words.gain_words([figures(1, 20.4), figures(2, 37), figures(4, 42)], plain)
    assert words.startswith("Speculation loses with the load. 1.02× the baseline at 1 request")
    assert words.endswith("From 4 at a time it is a slowdown.")  # not from 2, at 0.93×


def test_the_table_says_how_many_times_the_baselines_rate():
    html = serving_panels.figures("", {2: figures(2, 30)}, {2: figures(2, 20), 4: figures(4, 40)})
    assert html.count("×</td>") == 1
    assert "nine tenths and 99 hundredths" in html.split("<table")[0]  # not only under a pointer
    assert "<td>1.50×</td>" in html


def test_where_acceptance_was_read():
    found = Speculation(steps=10, drafted=40, accepted_at=[5, 0, 0, 0])
    words = serving_words.acceptance_words([figures(1, 9, found)])
    assert words.startswith("1.50 tokens per step over 10 steps, from the server's counters")
    more = figures(4, 9, Speculation(steps=30, drafted=120, accepted_at=[3, 0, 0, 0]))
    assert serving_words.acceptance_words([figures(1, 9, found), more]).startswith(
        "1.20 tokens per step over 40 steps"
    )
    assert serving_words.acceptance_words([figures(1, 9)]) is None


def test_charts_show_the_figures():
    gain = charts.gain_figure([figures(4, 50), figures(1, 30)], [figures(1, 20)])
    assert gain.data[0].x == (1, 4)
    assert gain.data[0].y == (30.0, 50.0)
    assert gain.data[0].text == ("1.50×", "")
    late = charts.latency_figure([figures(1, 30)], [])
    assert late.data[0].y == (10.0,)
    assert late.data[0].error_y.array == (10.0,)


def test_the_recorded_figures_ship_and_hold_together():
    assert FILE.stat().st_size < 100_000
    record: ServingRecord = recorded()
    assert [f.concurrency for f in record.speculative] == [1, 2, 4, 8, 16]
    assert [f.concurrency for f in record.plain] == [1, 2, 4, 8, 16]
    chains = [row for row in record.rows if "chain" in row.shape]
    assert {row.engine for row in chains} == {"this explorer, int4", "vLLM 0.32.0"}
    assert all(row.speculation.steps >= 2000 for row in chains)
    ours, theirs = (row.speculation.shares for row in chains)
    assert all(abs(a - b) < 0.03 for a, b in zip(ours, theirs, strict=True))
    assert 0 < max(record.greedy.margins) <= record.greedy.noise
    assert "first guess only" in serving_words.difference_words(record.rows)
    assert record.answer.accepted
