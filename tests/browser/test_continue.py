"""Continue on the Explore page: the button, and the real app with the default model end to end."""

from __future__ import annotations

import gzip
import json

import pytest

from explorer.records.text import join_pieces
from tests.browser.test_explore import lane_text
from tests.ui.fakes import FakeLab

PROMPT = "Write a long story about a lighthouse keeper and the sea."
TITLE = "document.querySelector('#mx-continue').title"


def run_anew(page, new_tokens: int):
    """Run the prompt, and wait for the end of this very run."""
    page.run(PROMPT, new_tokens)
    page.wait(f"explorer.trace.header?.settings.max_new_tokens === {new_tokens}", 30_000)
    return page.done()


def press_continue(page, new_tokens: int):
    """Go on with so many tokens more, and wait for the end."""
    before = page.ask("explorer.trace.header.prompt_ids.length")
    page.open_settings()
    page.page.fill("#mx-new-tokens input[type=number]", str(new_tokens))
    page.page.press("#mx-new-tokens input[type=number]", "Tab")
    page.page.click("#mx-continue")
    page.page.wait_for_selector("#mx-new-tokens", state="hidden")  # the settings close by a run
    page.wait(f"explorer.trace.header?.prompt_ids.length > {before}", 30_000)
    return page.done()


def test_a_continued_text_is_the_unbroken_one(real_url, tab, tmp_path):
    page = tab(real_url).ready()
    assert page.page.is_disabled("#mx-continue")
    whole = run_anew(page, 24).save(tmp_path)
    first = run_anew(page, 10).save(tmp_path)
    press_continue(page, 6)
    page.choose_setting("method", "prompt-lookup")
    second = press_continue(page, 8).save(tmp_path)

    written = whole.new_token_ids
    assert len(written) == 24
    assert first.new_token_ids == written[:10]
    assert second.header.prompt_ids == [*whole.header.prompt_ids, *written[:16]]
    assert second.header.continued_tokens == 16
    assert second.header.settings.method == "prompt-lookup"
    assert second.new_token_ids == written[16:]
    # The page shows the earlier reply, muted, before the new text; so does a file opened again.
    before = join_pieces(second.pieces, written[:16])
    for _ in range(2):
        assert page.texts(".sx-lane.is-own .sx-before") == [before]
        assert page.lane("own") == before + lane_text(second, second.new_token_ids)
        assert page.lane("rival") == page.lane("own")
        page.open(second)
    assert page.errors == []


def test_the_button_says_what_it_does_or_why_it_is_off(scripted_url, tab):
    page = tab(scripted_url).ready()
    page.wait_until(f"{TITLE}.includes('nothing to continue yet')")
    page.run("slow").wait_for_status("Decoding")
    page.wait_until(f"{TITLE}.includes('still in progress')")
    assert page.page.is_disabled("#mx-continue")
    page.wait("explorer.trace.steps.length > 1")
    page.page.click("#mx-stop")
    page.wait_for_status("Stopped")
    page.wait_until(f"{TITLE}.includes('Continue the text')")
    assert page.page.is_enabled("#mx-continue")
    page.run("quick", new_tokens=10).done()
    page.wait_until(f"{TITLE}.includes('has ended its text')")
    assert page.page.is_disabled("#mx-continue")


@pytest.mark.parametrize("width", [390, 760, 1440])
def test_the_buttons_stand_in_one_row_and_keep_their_places(scripted_url, tab, width):
    page = tab(scripted_url, viewport={"width": width, "height": 844}).ready()
    places = (
        "[...document.querySelectorAll('#mx-buttons button')]"
        ".map(button => { const { x, y, width, height } = button.getBoundingClientRect();"
        " return [x, y, width, height].map(Math.round); })"
    )
    page.page.fill("#mx-prompt textarea", "quick")
    before = page.page.evaluate(places)
    assert len(before) == 3
    assert len({y for _, y, _, _ in before}) == 1
    assert page.page.evaluate(
        "[...document.querySelectorAll('#mx-buttons button')]"
        ".every(button => button.scrollWidth <= button.clientWidth)"
    )
    page.run().done()
    assert page.page.evaluate(places) == before


@pytest.mark.parametrize("count", ["one more", -1, "<b>", 1.5])
def test_a_file_that_continues_more_than_its_prompt_is_refused(alone, count):
    trace = FakeLab().trace(max_new_tokens=10)
    record = json.loads(trace.model_dump_json())
    more = len(record["header"]["prompt_ids"]) + 1
    record["header"]["continued_tokens"] = more if count == "one more" else count
    steps = alone().open_bytes(gzip.compress(json.dumps(record).encode()))
    assert "header.continued_tokens" in steps.problem
