"""The Serve page in a browser: servers that answer, one that is hostile, and a public host."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.browser.conftest import serving as app
from tests.browser.test_access import serious
from tests.serving.fake_server import WORDS, Fake, serving

LONG_MS = 120_000
HOSTILE = "<img src=x onerror=\"document.title='owned'\">"


@pytest.fixture
def serve_page(browser):
    """Opens the Serve page; errors, and requests beyond the app, fail the test."""
    contexts, errors = [], []

    def open_page(url: str, **options: object):
        context = browser.new_context(**{"viewport": {"width": 1440, "height": 1000}} | options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        own = (url, "data:", "blob:")
        page.on("request", lambda asked: asked.url.startswith(own) or errors.append(asked.url))
        page.goto(f"{url}/serve")
        page.wait_for_selector("#mx-serve-figures table", timeout=LONG_MS)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert errors == []


def run(page, address: str, baseline: str = "", kind: str = "one prompt", end: str = "done") -> str:
    page.get_by_label("Server").first.fill(address)
    page.get_by_label("Baseline server").fill(baseline)
    page.get_by_label(kind, exact=True).check()
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_selector(f"#mx-serve-status .mx-{end}", timeout=LONG_MS)
    return page.inner_text("#mx-serve-status")


@pytest.mark.parametrize("options", [{}, {"viewport": {"width": 390, "height": 844}}])
def test_a_load_beside_its_baseline_and_the_steps_of_a_request(scripted_url, serve_page, options):
    page = serve_page(scripted_url, **options)
    with serving(Fake(pause=0.01)) as ours, serving(Fake(pause=0.03, reports=False)) as base:
        assert "vLLM 0.32.0 serves fake" in run(page, ours, base, "load")
    cells = page.locator("#mx-serve-figures td").all_inner_texts()
    assert cells[0] == "4"
    assert float(cells[3].rstrip("×")) > 1
    assert cells[4] == "2.00"
    page.wait_for_selector("#mx-serve-acceptance .js-plotly-plot .barlayer path")
    assert page.locator("#mx-serve-gain .js-plotly-plot .scatterlayer .trace").count() == 2

    slider = page.locator(".vx-timeline")
    first = "Step 1 of 3: 2 of 3 drafts accepted, 3 tokens written."
    assert page.inner_text(".vx-sentence") == first
    slider.press("End")
    assert page.inner_text(".vx-sentence").startswith("Step 3 of 3: 1 of 3 drafts accepted")
    assert page.inner_text(".vx-text mark") == WORDS[3]
    slider.press("ArrowLeft")
    assert slider.get_attribute("aria-valuenow") == "2"
    box = slider.bounding_box()
    page.mouse.click(box["x"] + 8, box["y"] + 40)
    assert slider.get_attribute("aria-valuenow") == "1"
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_hostile_text_stays_text_and_everyone_can_use_the_page(scripted_url, serve_page, scheme):
    page = serve_page(scripted_url, color_scheme=scheme)
    with serving(Fake(model=HOSTILE, words=[HOSTILE] * 4)) as address:
        assert HOSTILE in run(page, address)
    assert HOSTILE in page.inner_text(".vx-text")
    assert page.title() != "owned"
    assert serious(SimpleNamespace(page=page)) == []


def test_a_failure_is_a_sentence_and_a_cancel_ends_a_run(scripted_url, serve_page):
    page = serve_page(scripted_url)
    assert "no address of a server" in run(page, "file:///etc/passwd", end="failed")
    with serving(Fake(words=["x"] * 400, pause=0.02)) as address:
        page.get_by_label("Server").first.fill(address)
        page.get_by_label("load", exact=True).check()
        page.get_by_role("button", name="Run", exact=True).click()
        page.locator("#mx-serve-buttons button:enabled >> text=Cancel").click(timeout=LONG_MS)
        page.wait_for_selector("#mx-serve-status .mx-done", timeout=LONG_MS)
    assert "Cancelled" in page.inner_text("#mx-serve-status")


def test_a_public_host_shows_recorded_figures_and_takes_no_address(serve_page, tmp_path):
    with app(["app.py", "--replay", "--public", "--port"], tmp_path, {}) as url:
        page = serve_page(url)
        assert "This host opens no address" in page.inner_text("#mx-serve-about")
        assert page.locator("#mx-serve-form").count() == 0
        assert page.locator("input[type=text], textarea").count() <= 1  # the list of requests
        assert "Recorded on" in page.inner_text("#mx-serve-figures")
        assert "takes each head's first guess only" in page.inner_text("#mx-serve-rows")
        page.wait_for_selector("#mx-serve-gain .js-plotly-plot")
        assert page.inner_text(".vx-sentence").startswith("Step 1 of ")
