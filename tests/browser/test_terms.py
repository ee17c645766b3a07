"""Words that explain themselves: by pointer, keyboard and touch, in the glossary's words."""

from __future__ import annotations

import pytest

from tests.browser.test_access import serious
from tests.node import ask_module
from tests.ui.fakes import FakeLab

TERM = ".sx-tree h2 .sx-term"
TIP = ".sx-tip"
FIRST_SCREEN = 900


@pytest.fixture(scope="module")
def trace():
    return FakeLab(shapes=(1, 4)).trace(max_new_tokens=40)


@pytest.fixture(scope="module")
def meaning():
    return ask_module("step_explorer/glossary.js", "module.GLOSSARY['candidate tree']")


def test_a_pointer_opens_the_sentence_and_may_move_onto_it(alone, trace, meaning):
    page = alone().open(trace).page
    page.hover(TERM)
    assert page.inner_text(TIP) == meaning
    page.hover(TIP)
    page.wait_for_timeout(300)  # longer than it lingers
    assert page.is_visible(TIP)
    page.hover(".sx-verdict")
    page.wait_for_selector(TIP, state="detached")


def test_the_keyboard_opens_it_and_escape_closes_only_it(alone, trace, meaning):
    steps = alone().open(trace)
    steps.press("p")
    steps.page.focus(TERM)
    assert steps.page.inner_text(TIP) == meaning
    assert steps.page.get_attribute(TERM, "aria-describedby") == "sx-tip"
    assert serious(steps) == []
    steps.press("Escape")
    assert steps.page.query_selector(TIP) is None
    assert steps.state("presenter")


def test_a_tap_opens_it_inside_a_phones_width_and_another_closes_it(alone, trace, meaning):
    steps = alone(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = steps.open(trace).page
    page.tap(".sx-mask h2 .sx-term")
    box = page.locator(TIP).bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    page.tap(TERM)
    assert page.inner_text(TIP) == meaning
    page.tap(".sx-verdict h2")
    page.wait_for_selector(TIP, state="detached")


def test_the_first_screen_explains_five_words_at_most(alone, trace):
    page = alone(viewport={"width": 1440, "height": FIRST_SCREEN}).open(trace).page
    boxes = [term.bounding_box() for term in page.query_selector_all(".sx-term")]
    assert 0 < sum(box["y"] < FIRST_SCREEN for box in boxes) <= 5
