"""Accessibility, checked by axe-core in every state of the page and in both schemes."""

from __future__ import annotations

from pathlib import Path

import axe_playwright_python
import pytest

from tests.ui.fakes import FakeLab

AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js")
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]
# Experimental, and not for pictures, whose labels cut a token short that the name spells out.
RULES = {"label-content-name-mismatch": {"enabled": False}}

# Colours are judged where they end, not on their way there.
AT_REST = """() => Promise.allSettled(document.getAnimations()
    .filter((one) => one.playState === "running")
    .filter((one) => one.effect.getComputedTiming().endTime < Infinity)
    .map((one) => one.finished))"""


def serious(steps, root: str = "body") -> list[str]:
    """What axe finds that is serious or critical, a line each."""
    steps.page.add_script_tag(path=AXE)
    steps.page.evaluate(AT_REST)
    found = steps.page.evaluate(
        "([root, tags, rules]) => axe.run(root, { runOnly: tags, rules })", [root, TAGS, RULES]
    )
    return [
        f"{fault['id']}: {node['html'][:120]} {node['failureSummary'][:300]}"
        for fault in found["violations"]
        if fault["impact"] in ("serious", "critical")
        for node in fault["nodes"]
    ]


@pytest.fixture(scope="module")
def trace():
    return FakeLab(shapes=(1, 4)).trace(max_new_tokens=40)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_step_explorer(alone, trace, scheme):
    steps = alone(color_scheme=scheme)
    assert serious(steps) == []
    steps.open(trace).show(2)
    assert serious(steps) == []
    steps.press("t", "m", "x")
    assert serious(steps) == []
    steps.press("t", "p")
    assert serious(steps) == []
    steps.press("ArrowRight", "ArrowRight", "ArrowRight")
    assert serious(steps) == []


def test_a_phone(alone, trace):
    steps = alone(viewport={"width": 390, "height": 844}, color_scheme="dark").open(trace).show(2)
    assert serious(steps) == []
    assert steps.page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_explore_page(scripted_url, tab, scheme):
    page = tab(scripted_url, color_scheme=scheme).ready().run("quick", new_tokens=20).done()
    page.open_settings()
    assert serious(page) == []
