"""The page with a scripted model: sessions, queue, scrubbing while a run goes on, hostile text."""

from __future__ import annotations

import pytest

from tests.ui.fakes import TEXT

HOSTILE = (
    "<img src=x onerror=\"document.title='owned';alert(1)\">",
    "<script>document.title='owned'</script>",
    "${(document.title='owned')} {{constructor.constructor('alert(1)')()}} \"'`</div></textarea>",
)


def test_empty_state_says_what_to_do(scripted_url, tab):
    page = tab(scripted_url).ready()
    assert "press Run" in page.text(".mx-status")
    assert page.page.is_disabled("#mx-stop")
    assert page.page.is_disabled("#mx-save")


def test_examples_fill_the_prompt(scripted_url, tab):
    page = tab(scripted_url).ready()
    page.page.click("#mx-examples button:has-text('JSON')")
    page.wait_until("document.querySelector('#mx-prompt textarea').value.includes('JSON')")


def test_steps_can_be_scrubbed_while_the_run_goes_on(scripted_url, tab):
    page = tab(scripted_url).ready().run("slow")
    page.wait_until("+document.querySelector('#mx-slider input[type=range]').max >= 6", 20_000)
    page.seek(3)
    assert not page.page.is_checked("#mx-follow input")
    seen = len(page.lane("medusa"))
    page.wait_until(f"document.querySelector('#mx-medusa-text').textContent.length > {seen + 20}")
    assert page.steps()[0] == 3  # the view stays while the text grows
    page.page.click("#mx-next")
    page.wait_for_step(4)
    page.page.click("#mx-previous")
    page.wait_for_step(3)
    page.page.click("#mx-follow input")
    page.wait_until(
        "!document.querySelector('.mx-step-title h2').textContent.startsWith('Step 3 ')"
    )
    page.page.click("#mx-stop")
    page.wait_for_status("Stopped")


def test_two_tabs_have_their_own_sessions_and_wait_for_each_other(scripted_url, tab):
    first, second = tab(scripted_url).ready(), tab(scripted_url).ready()
    first.run("slow")
    first.wait_for_status("Decoding")
    second.run("quick", new_tokens=20)
    second.wait_for_status("Waiting: 1 run before yours")
    assert second.text("#mx-medusa-text").strip() == ""
    first.page.click("#mx-stop")
    first.wait_for_status("Stopped")
    second.done()
    ours, theirs = first.lane("medusa"), second.lane("medusa")
    assert ours != theirs
    assert TEXT.startswith(theirs)
    third = tab(scripted_url).ready()
    assert "No steps yet" in third.text(".mx-step-title")


def test_a_tab_that_is_closed_frees_the_model(scripted_url, tab):
    first = tab(scripted_url).ready().run("slow")
    first.wait_for_status("Decoding")
    first.page.close()
    tab(scripted_url).ready().run("quick", new_tokens=10).done()


def test_hostile_text_stays_text(scripted_url, tab):
    """The scripted model repeats a prompt that starts with `<` or `$` as its tokens."""
    page = tab(scripted_url).ready()
    for prompt in HOSTILE:
        page.run(prompt).wait_for_lane(prompt)
        page.done()
        assert page.lane("medusa") == prompt == page.lane("plain")
        for number in (1, 2):
            page.seek(number)
            page.choose_node(page.tree_nodes() - 1)
    assert page.page.evaluate("document.querySelectorAll('img[src=x]').length") == 0
    assert page.page.title() == "Medusa Explorer"
    assert page.dialogs == []
    assert page.errors == []


def test_an_error_message_is_text_too(scripted_url, tab):
    page = tab(scripted_url).ready().run("refuse")
    page.wait_for_status("<img src=x onerror=alert(1)>")
    page.page.wait_for_timeout(500)
    assert page.page.evaluate("document.querySelectorAll('img[src=x]').length") == 0
    assert page.dialogs == []
    page.run("quick", new_tokens=10).done()


def test_empty_prompt(scripted_url, tab):
    page = tab(scripted_url).ready().run("   ")
    page.wait_for_status("The prompt is empty")


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1440, "light")])
def test_nothing_is_wider_than_the_screen(scripted_url, tab, width, scheme):
    page = tab(scripted_url, viewport={"width": width, "height": 844}, color_scheme=scheme).ready()
    height = page.page.evaluate("document.documentElement.scrollHeight")
    page.run("quick").done()
    page.wait_for_step(page.steps()[1])
    assert page.page.evaluate("document.documentElement.scrollWidth") <= width
    if width == 1440:  # blocks have fixed heights: nothing jumps
        assert abs(page.page.evaluate("document.documentElement.scrollHeight") - height) <= 4
