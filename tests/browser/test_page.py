"""The page with a scripted model: sessions, queue, looking back while a run goes on, links."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from explorer.ui.examples import EXAMPLES
from tests.ui.fakes import TEXT

HOSTILE = (
    "<img src=x onerror=\"document.title='owned';alert(1)\">",
    "<script>document.title='owned'</script>",
    "${(document.title='owned')} {{constructor.constructor('alert(1)')()}} \"'`</div></textarea>",
)


def test_before_the_first_run_a_recorded_one_plays(scripted_url, tab):
    page = tab(scripted_url).ready()
    assert "press Run" in page.text(".mx-status")
    assert page.page.is_disabled("#mx-stop")
    page.wait("explorer.state.playing && explorer.state.step > 0")
    assert "Recorded run" in page.text(".sx-caption")


def test_examples_open_their_recording_and_fill_the_prompt_and_settings(scripted_url, tab):
    page = tab(scripted_url).ready()
    page.page.click(".sx-examples button:has-text('looser rule')")
    page.wait_until("document.querySelector('#mx-prompt textarea').value.includes('harbour')")
    page.open_settings()
    temperature = "document.querySelector('#mx-temperature input[type=number]').value"
    page.wait_until(f"{temperature} === '0.7'")
    page.page.click("#mx-settings-button")
    assert "harbour" in page.text(".sx-prompt")
    assert "Typical acceptance" in page.text(".sx-prompt-hint")
    page.page.click(".sx-examples button:has-text('JSON')")
    page.wait_until("document.querySelector('#mx-prompt textarea').value.includes('JSON')")
    page.open_settings()
    page.wait_until(f"{temperature} === '0'")


def test_steps_can_be_looked_at_while_the_run_goes_on(scripted_url, tab):
    page = tab(scripted_url).ready().run("slow")
    page.wait("explorer.state.live && explorer.trace.steps.length >= 4", 20_000)
    newest = "explorer.state.step === explorer.trace.steps.length - 1"
    assert page.state("follow")
    assert page.ask(newest)
    page.show(2)
    assert not page.state("follow")
    seen = page.ask("explorer.trace.steps.length")
    page.wait(f"explorer.trace.steps.length > {seen + 2}", 20_000)
    assert page.step == 2  # the view stays while the run grows
    page.page.evaluate("document.activeElement.blur()")
    page.press("ArrowRight", "ArrowRight", "ArrowLeft")
    assert page.step == 3
    page.press("l")
    assert page.state("follow")
    assert page.ask(newest)
    page.page.click("#mx-stop")
    page.wait_for_status("Stopped")
    assert page.errors == []


def test_two_tabs_have_their_own_sessions_and_wait_for_each_other(scripted_url, tab):
    first, second = tab(scripted_url).ready(), tab(scripted_url).ready()
    first.run("slow")
    first.wait_for_status("Decoding")
    second.run("quick", new_tokens=20)
    second.wait_for_status("Waiting: 1 run before yours")
    assert not second.state("live")
    first.wait("explorer.trace.steps.length >= 3", 20_000)
    first.page.click("#mx-stop")
    first.wait_for_status("Stopped")
    second.done()
    prompts = [each.ask("explorer.trace.header.prompt") for each in (first, second)]
    assert prompts == ["slow", "quick"]
    assert TEXT.startswith(second.lane("own"))
    first.show(2)
    second.show(1)
    assert first.step == 2


def test_a_tab_that_is_closed_frees_the_model(scripted_url, tab):
    first = tab(scripted_url).ready().run("slow")
    first.wait_for_status("Decoding")
    first.page.close()
    tab(scripted_url).ready().run("quick", new_tokens=10).done()


def test_hostile_text_stays_text(scripted_url, tab):
    """The scripted model repeats a prompt that starts with `<` or `$` as its tokens."""
    page = tab(scripted_url).ready()
    for prompt in HOSTILE:
        page.run(prompt).wait(f"explorer.trace.header?.prompt === {prompt!r}", 20_000)
        page.done()
        assert page.lane("own") == prompt == page.lane("rival")
        page.show(2).press("t", "m", "x", "t")
    assert page.page.evaluate("document.querySelectorAll('img[src=x]').length") == 0
    assert page.page.title() == "Medusa Explorer"
    assert page.dialogs == []
    assert page.errors == []


def test_an_error_message_is_text_too(scripted_url, tab):
    page = tab(scripted_url).ready().run("refuse")
    page.wait_for_status("<img src=x onerror=alert(1)>")
    assert page.page.evaluate("document.querySelectorAll('img[src=x]').length") == 0
    assert page.dialogs == []
    page.run("quick", new_tokens=10).done()


def test_empty_prompt(scripted_url, tab):
    page = tab(scripted_url).ready().run("   ")
    page.wait_for_status("The prompt is empty")
    page.page.set_viewport_size({"width": 390, "height": 844})
    status = "document.querySelector('.mx-status')"
    page.page.evaluate(f"() => {{ {status}.textContent = 'A long sentence. '.repeat(20); }}")
    page.wait_until(f"{status}.scrollHeight <= {status}.clientHeight + 1")  # read to its end


def test_notes_about_the_model_lie_over_open_settings(scripted_url, tab):
    page = tab(scripted_url).ready()
    page.open_settings()
    page.page.click(".mx-notes summary")
    page.wait_until(
        """(() => {
            const list = document.querySelector(".mx-notes ul");
            list.style.minHeight = "300px";
            const { left, bottom } = list.getBoundingClientRect();
            return list.contains(document.elementFromPoint(left + 20, bottom - 20));
        })()"""
    )


def test_a_link_brings_prompt_settings_and_step(scripted_url, tab):
    story = next(example for example in EXAMPLES if example.name == "story")
    page = tab(f"{scripted_url}/#example=story&max_new_tokens=24&temperature=0.5&step=3").ready()
    page.wait_until("document.querySelector('#mx-prompt textarea').value.includes('lighthouse')")
    assert page.page.input_value("#mx-prompt textarea") == story.prompt
    page.page.click("#mx-run")
    page.done()
    settings = page.ask("explorer.trace.header.settings")
    assert (settings["max_new_tokens"], settings["temperature"]) == (24, 0.5)
    assert page.step == 3
    page.page.click(".sx-topbar >> text=link")
    page.wait_until("location.hash.includes('step=3')")
    link = page.page.evaluate("location.hash")
    assert "example=story" in link
    assert "temperature=0.5" in link


def test_a_link_with_a_hostile_prompt_is_text(scripted_url, tab):
    page = tab(f"{scripted_url}/#prompt={quote(HOSTILE[0])}").ready()
    page.wait_until("document.querySelector('#mx-prompt textarea').value.startsWith('<img')")
    assert page.dialogs == []


def test_a_link_with_settings_that_no_input_takes_still_runs(scripted_url, tab):
    evil = quote("<h1 id='evil'>Session expired</h1>")
    wrong = f"method={evil}&root_rule={evil}&temperature=abc&top_p=9&max_new_tokens=1e9"
    page = tab(f"{scripted_url}/#prompt=quick&{wrong}").ready()
    page.wait_until("document.querySelector('#mx-prompt textarea').value === 'quick'")
    page.run().done()
    assert page.count("#evil") == 0
    settings = page.ask("explorer.trace.header.settings")
    assert (settings["method"], settings["temperature"]) == ("medusa", 0)


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1440, "light")])
def test_nothing_is_wider_than_the_screen_and_nothing_moves(scripted_url, tab, width, scheme):
    page = tab(scripted_url, viewport={"width": width, "height": 844}, color_scheme=scheme).ready()
    page.wait("explorer.view !== null")
    places = (
        "[...document.querySelectorAll('.sx-card:not(.sx-presenter, .sx-summary)')]"
        ".map(card => Math.round(card.getBoundingClientRect().top + scrollY))"
    )
    page.page.fill("#mx-prompt textarea", "quick")
    before = page.ask(places)
    page.run().done()
    assert page.page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.ask(places) == before
    page.open_settings()
    assert page.page.evaluate("document.documentElement.scrollWidth") <= width
    if width == 390:  # one setting a line, at full width
        wide = page.page.locator("#mx-tree-setting").bounding_box()["width"]
        assert wide > 300
