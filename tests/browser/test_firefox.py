"""What a reader does first, in a Firefox as a distribution ships it.

Playwright drives it by WebDriver BiDi (channel `moz-firefox`), so pages and steps are those of the
Chromium tests: only `browser` is another one here. Playwright does not take note of a BiDi download
of something made in the page, so what is saved is read from the folder it lands in.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from explorer.records.errors import ExplorerError
from explorer.records.files import read_trace
from explorer.records.schema import Trace
from tests.browser.steps import Steps
from tests.browser.test_explore import lane_text
from tests.browser.test_site import (
    folder,
    hosts,
    site,
    test_learn_computes,
    test_learn_leads_to_a_step_on_explore_and_back,
)
from tests.ui.fakes import FakeLab

# The site without a server, from a disk and from a host: the same fixtures and tests.
__all__ = [
    "folder",
    "hosts",
    "site",
    "test_learn_computes",
    "test_learn_leads_to_a_step_on_explore_and_back",
]

PLACES = ("firefox-esr", "firefox")
GALLERY = "step_explorer/index.html"
SAVE_SECONDS = 20


@pytest.fixture(scope="module")
def downloads(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("firefox")


@pytest.fixture(scope="module")
def browser(playwright, downloads) -> Iterator:
    """FIREFOX, else the system's one; Playwright's own is a patched build and not meant here."""
    places = (os.environ.get("FIREFOX"), *PLACES)
    found = next(filter(None, (shutil.which(place) for place in places if place)), None)
    if found is None:
        pytest.skip("no Firefox is installed (Debian: apt-get install firefox-esr)")
    browser = playwright.firefox.launch(
        channel="moz-firefox", executable_path=found, downloads_path=downloads
    )
    yield browser
    browser.close()


def landed(steps: Steps, downloads: Path, act, read):
    """What `read` makes of the file that comes from doing something."""
    before = set(downloads.iterdir())
    act()
    end = time.monotonic() + SAVE_SECONDS
    while time.monotonic() < end:
        for path in set(downloads.iterdir()) - before:
            with contextlib.suppress(ExplorerError, OSError):  # it is still being written
                return read(path)
        steps.page.wait_for_timeout(50)
    pytest.fail(f"nothing was saved in {SAVE_SECONDS} s")


def saved(steps: Steps, downloads: Path) -> Trace:
    """Press save and read the file."""
    button = ".sx-topbar >> text=/^Save$/"
    return landed(steps, downloads, lambda: steps.page.click(button), read_trace)


def test_a_recorded_run_plays_and_is_scrubbed_with_keys(alone):
    steps = alone(GALLERY).wait("explorer.state.playing && explorer.state.step > 0")
    assert "Recorded run" in steps.text(".sx-caption")
    steps.press(" ")
    assert not steps.state("playing")
    steps.press("Home", "ArrowRight", "ArrowRight")
    assert steps.step == 3
    assert "Step 3 of" in steps.text(".sx-timeline h2")
    steps.press("End")
    assert steps.step == steps.ask("explorer.trace.steps.length")


def test_a_node_under_the_pointer_lights_up_in_tree_mask_and_text(alone):
    trace = FakeLab(shapes=(1,)).trace(max_new_tokens=40)
    step = next(step for step in trace.steps if len(step.accepted) > 1)
    steps = alone().open(trace).show(step.index + 1)
    row = step.accepted[1]
    steps.page.hover(f".sx-tree [data-row='{row}'] .sx-mark")
    steps.wait(f"explorer.state.hover === {row}")
    assert steps.count(".sx-tree .sx-node.is-line") == 2
    assert steps.count(".sx-mask svg .sx-token.is-line") == 2
    assert steps.count(".sx-lane.is-own .is-line") == 2
    assert f"at position {step.context_length + 1} sees the text so far" in steps.text(
        ".sx-mask .sx-hint"
    )


def test_a_saved_trace_opens_and_is_saved_again_as_it_was(alone, downloads):
    trace = FakeLab().trace(max_new_tokens=30)
    steps = alone().open(trace, "mine.json.gz")
    assert "mine.json.gz" in steps.text(".sx-caption")
    assert saved(steps, downloads) == trace


def test_a_card_is_saved_as_a_picture(alone, downloads):
    steps = alone().open(FakeLab().trace(max_new_tokens=30)).show(3)
    choice = ".sx-lanes select[aria-label$='save the picture']"
    image = landed(steps, downloads, lambda: steps.choose(choice, "png"), loaded)
    assert image.format == "PNG"
    assert len(image.convert("RGB").getcolors(1 << 24)) > 20


def loaded(path: Path) -> Image.Image:
    image = Image.open(path)
    image.load()
    return image


def test_a_prompt_runs_from_the_page_to_the_trace(real_url, tab, downloads):
    page = tab(real_url).ready().run("Name three fruits.", new_tokens=24).done()
    trace = saved(page, downloads)
    assert trace.header.prompt == "Name three fruits."
    assert len(trace.new_token_ids) <= 24
    assert page.lane("own") == lane_text(trace, trace.new_token_ids)
    assert page.lane("rival") == lane_text(trace, trace.rival.new_token_ids)
    assert page.errors == []
    assert page.hosts == {real_url.removeprefix("http://")}
