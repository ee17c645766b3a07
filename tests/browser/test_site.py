"""The site without a server, from a disk and from a static host under a sub-path."""

from __future__ import annotations

import functools
import http.server
import json
import threading
from typing import Any

import pytest

from explorer.analysis.formulas import pass_seconds
from explorer.learn import site as site_files
from explorer.learn.formats import significant
from explorer.learn.machines import GPUS
from explorer.learn.site import write_site
from tests.browser.conftest import _Quiet
from tests.ui.compare_fakes import comparison
from tests.ui.fakes import FakeLab


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("host") / "some" / "where"
    recorded = tmp_path_factory.mktemp("recorded") / "recorded.json"
    recorded.write_text(json.dumps(made_up_comparison()), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(site_files, "RECORDED", recorded)
        write_site(out)
    return out


def made_up_comparison() -> dict[str, Any]:
    """What tools/record_comparison.py writes, of a scripted model."""
    prompts = [{"id": "one", "category": "qa", "prompt": "Why?"}]
    turns = list(comparison(FakeLab(pace=0), prompts, ["plain", "medusa"], 8))
    reports = [turn.report for turn in turns if turn.report]
    return reports[-1].model_dump(mode="json") | {"asked_prompts": prompts}


@pytest.fixture(scope="module")
def hosts(folder):
    """The address of the folder from a disk, and from a server's sub-path."""
    handler = functools.partial(_Quiet, directory=folder.parents[1])
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield {"disk": folder.as_uri(), "host": f"http://127.0.0.1:{server.server_port}/some/where"}
    server.shutdown()
    server.server_close()


@pytest.fixture(params=["disk", "host"])
def site(request, browser, hosts):
    """Opens a page of the site; errors on it, and requests elsewhere, fail the test."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, accept_downloads=True)
    page = context.new_page()
    wrong, base = [], hosts[request.param]
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("requestfailed", lambda asked: wrong.append(asked.url))
    page.on("request", lambda asked: elsewhere(asked.url) and wrong.append(asked.url))

    def elsewhere(url: str) -> bool:
        return not url.startswith((base, "data:", "blob:"))

    def open_page(path: str):
        page.goto(f"{base}/{path}")
        return page

    yield open_page
    context.close()
    assert wrong == []


def test_learn_computes(site):
    page = site("learn.html#memory_wall")
    page.wait_for_selector("#memory_wall .lx-widget.is-ready")
    gpu = GPUS[0]
    page.click(f".is-current button:text-is('{gpu.name}')")
    seconds = pass_seconds(70e9, 16, gpu.bandwidth, gpu.flops)
    shown = page.inner_text(".is-current [data-figure=token]")
    assert shown.replace("\u202f", " ") == f"{significant(1e3 * seconds)} ms"


def test_learn_leads_to_a_step_on_explore_and_back(site):
    page = site("learn.html#memory_wall")
    page.wait_for_selector("#memory_wall .lx-widget.is-ready")
    page.click("#memory_wall a[data-recorded]")
    page.wait_for_function("window.explorer?.view")
    assert "index.html#trace=code&step=2" in page.url
    assert page.evaluate("explorer.state.step") == 1
    assert page.is_visible(".sx-tree svg")
    page.click(".mx-pages a:text-is('Learn')")
    page.wait_for_function("window.learn")


def test_a_recorded_run_is_saved_as_a_file_that_holds_all(site):
    page = site("index.html")
    page.wait_for_function("window.explorer?.trace.header")
    with page.expect_download() as saved:
        page.click("button:text-is('Save as web page')")
    text = saved.value.path().read_text(encoding="utf-8")
    assert "importmap" in text
    assert "is_prime" in text or "prime" in text


def test_compare_shows_the_recorded_comparison(site):
    page = site("compare.html")
    page.wait_for_selector("text=A recorded comparison.")
    assert page.locator("table tbody tr").count() >= 2
    assert not page.is_visible(".cx-setup")
    page.click(".mx-pages a:text-is('Explore')")
    page.wait_for_function("window.explorer?.trace.header")
