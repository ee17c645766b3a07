"""Opening and saving: whatever a file holds, the reader gets the run or one sentence."""

from __future__ import annotations

import gzip
import json

import pytest

from explorer.records.events import TraceBuilder
from explorer.records.files import MAX_BYTES
from explorer.records.settings import DecodeSettings
from explorer.ui.examples import EXAMPLES
from explorer.ui.session import Session
from explorer.ui.wire import Wire
from tests.browser.steps import Steps
from tests.ui.fakes import FakeLab


@pytest.fixture(scope="module")
def trace():
    return FakeLab(shapes=(1, 2)).trace(max_new_tokens=40)


def bad_files(trace) -> dict[str, tuple[bytes, str]]:
    """One of each kind; tests/js/open.test.js and validate.test.js have the others."""
    record = json.loads(trace.model_dump_json())
    record["steps"][1]["verdicts"] = ["<img src=x>"] * len(record["steps"][1]["verdicts"])
    return {
        "not gzip": (b"<html>hello</html>", "not a gzip file"),
        "verdict": (gzip.compress(json.dumps(record).encode()), "steps.1.verdicts"),
        "bomb": (gzip.compress(b" " * (MAX_BYTES + 10)), "larger than 64 MB"),
    }


def test_a_bad_file_is_one_sentence_and_the_run_stays(alone, trace):
    steps = alone().open(trace)
    for name, (data, sentence) in bad_files(trace).items():
        steps.ask("explorer.store.set({ problem: null })")
        steps.open_bytes(data, "evil <img src=x>.json.gz")
        assert sentence in steps.problem, name
        assert steps.problem.endswith("."), name
        assert steps.ask("explorer.trace.steps.length") == len(trace.steps)
    steps.open(trace, "again.json.gz").wait("explorer.state.problem === null")
    assert "again.json.gz" in steps.text(".sx-caption")


def test_a_trace_saved_in_the_browser_is_the_one_that_was_opened(alone, trace, tmp_path):
    assert alone().open(trace).save(tmp_path) == trace


def test_a_run_sent_by_the_server_is_saved_as_the_trace_it_was(alone, tmp_path):
    session, builder = Session(), TraceBuilder()
    steps = alone()
    session.phase = "running"
    for event in FakeLab().race("hi", DecodeSettings(max_new_tokens=30)):
        session.add(event)
        builder.add(event)
        steps.page.evaluate("m => { window.explorer.receive(m) }", session.message())
    session.phase = "done"
    session.wire.end()
    steps.page.evaluate("m => { window.explorer.receive(m) }", session.message())
    steps.wait("!explorer.state.live && explorer.view !== null")
    saved, sent = steps.save(tmp_path), builder.trace()
    assert saved.header == sent.header
    assert saved.pieces == sent.pieces
    assert saved.trees == sent.trees
    spread = {"positions": [], "timings": sent.steps[0].timings}
    for ours, theirs in zip(saved.steps, sent.steps, strict=True):
        assert ours.model_copy(update=spread) == theirs.model_copy(update=spread)
        assert ours.timings.step == pytest.approx(theirs.timings.step, abs=1e-3)
    positions = [[p for s in trace.steps for p in s.positions] for trace in (saved, sent)]
    assert positions[0] == positions[1]


def test_lost_messages_are_asked_for_again(alone):
    wire = Wire()
    for event in FakeLab().race("hi", DecodeSettings(max_new_tokens=30)):
        wire.add(event)
    found = alone().page.evaluate(
        """async (all) => {
          const { Explorer } = await import('./main.js');
          const asked = [];
          const explorer = new Explorer(document.createElement('div'), {
            missed: async (run, first) => { asked.push([run, first]); return all.slice(first); } });
          const send = (first, last) => explorer.receive(
            { run: 'r', first, events: all.slice(first, last), live: true });
          await Promise.all([send(0, 2), send(3, 4), send(3, 5), send(4, 5)]);
          const { trace } = explorer;
          return [asked, [trace, trace.rival].map((lane) => lane.steps.map((step) => step.index))];
        }""",
        wire.packed[:5],
    )
    steps = [[e[2]["i"] for e in wire.packed[:5] if e[:2] == ["step", lane]] for lane in (0, 1)]
    assert found == [[["r", 2]], steps]


def test_the_exported_page_opens_offline(alone, browser, trace, tmp_path):
    steps = alone().open(trace)
    path = steps.download(lambda: steps.page.click(".sx-topbar >> text=web page"), tmp_path)
    context = browser.new_context(offline=True, viewport={"width": 1440, "height": 900})
    page, errors = context.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: errors.append(request.url) if "http" in request.url else 0)
    page.goto(path.as_uri() + "#step=3")
    page.wait_for_selector(".sx-tree [role=treeitem]")
    assert "Step 3 of" in page.inner_text(".sx-timeline h2")
    assert (
        page.locator(".sx-lane.is-own").text_content()
        == steps.page.locator(".sx-lane.is-own").text_content()
    )
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.querySelector('.sx-timeline h2').textContent.includes('4 of')")
    assert errors == []
    context.close()


def test_recorded_runs_open_by_their_example_and_by_link(alone):
    name = next(example.name for example in EXAMPLES[1:] if example.file)
    steps = alone(f"step_explorer/index.html#trace={name}&step=4").wait("explorer.view !== null")
    assert f"‘{name}’" in steps.text(".sx-caption")
    assert steps.step == 4
    assert not steps.state("playing")
    steps.page.click(f".sx-examples button:has-text('{EXAMPLES[0].name}')")
    steps.wait(f"explorer.state.source.includes('‘{EXAMPLES[0].name}’')")
    steps.show(2).page.click(".sx-topbar >> text=link")
    link = f"#trace={EXAMPLES[0].name}&step=2"
    steps.page.wait_for_function("link => location.hash === link", arg=link)


def test_a_link_to_an_unknown_run_says_so(alone):
    steps: Steps = alone("step_explorer/index.html#trace=<b>nothing</b>")
    assert "no recorded run called <b>nothing</b>" in steps.problem


def test_an_opened_file_never_takes_the_place_of_the_own_run(alone, trace):
    """Nor of its place in Learn, which reads what the tab has kept."""
    steps, session = alone(), Session()
    for event in FakeLab().race("my own", DecodeSettings(max_new_tokens=30)):
        session.add(event)
    session.phase = "running"
    steps.page.evaluate("message => window.explorer.receive(message)", session.message())
    steps.open(trace)
    steps.page.evaluate("dispatchEvent(new Event('pagehide'))")
    kept = json.loads(steps.page.evaluate("sessionStorage.getItem('medusa-explorer-run')"))
    assert kept["header"]["prompt"] == "my own"
    assert kept["cut"]  # its end had not come
