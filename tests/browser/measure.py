"""Measures the step explorer's bars in Chromium and prints them: `python -m tests.browser.measure`.

Needs a quiet machine. With `--url`, also the time from Run to the first token on a running app.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
from collections.abc import Sequence

from playwright.sync_api import Page, sync_playwright

from explorer.records.schema import Trace
from explorer.records.settings import DecodeSettings
from explorer.ui.session import Session
from tests.browser.conftest import ALONE, serving_assets
from tests.browser.steps import Steps
from tests.trace_records import with_rival
from tests.ui.fakes import TEXT, FakeLab
from tools.browsers import chromium

STEPS, STREAMED, SAMPLES = 512, 300, 120
TREE_64 = 4  # of fakes.SHAPES: 63 nodes and the root

# Runs an action many times; each time until the browser has painted its result.
TIMES = """async ([action, samples, most]) => {
  const act = new Function('i', action);
  const painted = () => new Promise((done) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = done;
    channel.port2.postMessage(null);
  }));
  const times = [];
  for (let i = 0; i < samples; i += 1) {
    await new Promise((done) => setTimeout(done, 20));
    const begin = performance.now();
    act(Math.floor(Math.random() * most));
    await painted();
    times.push(performance.now() - begin);
  }
  return times;
}"""


def main(argv: Sequence[str] | None = None) -> None:
    """Print every figure beside its bar."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", help="address of a running app with its model loaded")
    url = parser.parse_args(argv).url
    with sync_playwright() as playwright, serving_assets() as assets:
        arguments = ["--enable-precise-memory-info"]
        if os.geteuid() == 0:
            arguments.append("--no-sandbox")
        browser = playwright.chromium.launch(executable_path=chromium(), args=arguments)
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(f"{assets}/{ALONE}")
        steps = Steps(page).wait("explorer.store").open(long_trace())
        show = "explorer.show(i)"
        report("scrub to a random step", page.evaluate(TIMES, [show, SAMPLES, STEPS]), 50)
        hover = "explorer.store.set({ hover: i })"
        report("hover to highlight", page.evaluate(TIMES, [hover, SAMPLES, 64]), 30)
        heap(page, steps)
        if url:
            first_token(browser.new_page(), url)
        browser.close()


def long_trace() -> Trace:
    """512 steps of 64 rows."""
    trace = FakeLab(TEXT * 16, shapes=(TREE_64,)).trace(max_new_tokens=4000)
    assert len(trace.steps) >= STEPS
    steps = trace.steps[:STEPS]
    return with_rival(trace.model_copy(update={"steps": steps}), trace.rival.steps[:1200])


def heap(page: Page, steps: Steps) -> None:
    """Stream 300 steps as the server would; what the page's heap has grown by afterwards."""
    session, sizes = Session(phase="running"), []
    devtools = page.context.new_cdp_session(page)

    def used() -> float:
        devtools.send("HeapProfiler.collectGarbage")
        return devtools.send("Runtime.getHeapUsage")["usedSize"] / 2**20

    before, streamed = used(), 0
    explorer = FakeLab(TEXT * 16, shapes=(TREE_64,))
    for event in explorer.race("hi", DecodeSettings(max_new_tokens=4000)):
        session.add(event)
        if hasattr(event, "step") and event.lane == 0:
            streamed += 1
            sizes.append(len(json.dumps(session.wire.packed[-1], ensure_ascii=False).encode()))
            page.evaluate("m => { window.explorer.receive(m) }", session.message())
            steps.ask("null")
        if streamed == STREAMED:
            break
    print(f"heap growth over {STREAMED} streamed steps: {used() - before:.1f} MB (bar: 60)")
    print(
        f"bytes per step of 64 rows: first {sizes[0]:,}, median {statistics.median(sizes):,.0f}, "
        f"largest {max(sizes):,}, last ten {statistics.mean(sizes[-10:]):,.0f} (bar: 12,000, flat)"
    )


def first_token(page: Page, url: str) -> None:
    """From Run to the first token that a reader can see; the second run is the warm one."""
    page.goto(url)
    page.wait_for_function(
        "document.querySelector('.mx-status')?.textContent.includes('Ready')", timeout=180_000
    )
    for name in ("cold", "warm"):
        seconds = page.evaluate(
            """async () => {
              const caption = document.querySelector('.sx-caption');
              const live = () => caption.textContent.startsWith('This')
                && document.querySelector('.sx-lane.is-own .sx-tok');
              const begin = performance.now();
              document.querySelector('#mx-run').click();
              await new Promise((done) => setTimeout(done, 30));
              document.querySelector('.sx-lane.is-own').replaceChildren();
              while (!live()) await new Promise((done) => setTimeout(done, 5));
              return (performance.now() - begin) / 1000;
            }"""
        )
        print(f"first visible token after Run, {name}: {seconds:.2f} s (bar: 1, warm)")
        page.wait_for_function(
            "document.querySelector('.mx-status')?.textContent.includes('Done')", timeout=180_000
        )


def report(what: str, times: list[float], bar: float) -> None:
    """Median, 95th percentile and slowest of some times in milliseconds."""
    ordered = sorted(times)
    late = ordered[int(0.95 * len(ordered))]
    print(
        f"{what}, painted: median {statistics.median(times):.1f} ms, 95 % within {late:.1f} ms, "
        f"slowest {ordered[-1]:.1f} ms (bar: {bar:.0f})"
    )


if __name__ == "__main__":
    main()
