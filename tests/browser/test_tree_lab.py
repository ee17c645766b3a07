"""The Tree lab and the Heads page in Chromium, over the app with a scripted model."""

from __future__ import annotations

import pytest

WIDTHS = (1440, 390)


@pytest.fixture
def page(browser):
    """Opens a page of the app; errors and requests to other hosts fail the test."""
    contexts, faults = [], []

    def open_page(url: str, width: int = 1440):
        contexts.append(browser.new_context(viewport={"width": width, "height": 1000}))
        page = contexts[-1].new_page()
        page.set_default_timeout(120_000)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith((url.rsplit("/", 1)[0], "data:", "blob:"))
                else faults.append(request.url)
            ),
        )
        page.goto(url)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert faults == []


def nodes(page) -> int:
    return page.locator('.tl-shape [data-does="remove"]').count()


def test_a_tree_is_built_by_clicking_and_by_the_keyboard(page, scripted_url):
    lab = page(f"{scripted_url}/tree")
    lab.wait_for_selector(".tl-shape")
    before, paths = nodes(lab), lab.input_value("#tl-tree textarea")
    lab.locator('.tl-shape [data-does="add"]').first.click()
    lab.wait_for_function(
        "n => document.querySelectorAll('[data-does=remove]').length > n", arg=before
    )
    assert lab.input_value("#tl-tree textarea") != paths
    grown = nodes(lab)
    lab.locator('.tl-shape [data-path="0"]').press("Enter")
    lab.wait_for_function(
        "n => document.querySelectorAll('[data-does=remove]').length < n", arg=grown
    )
    lab.wait_for_selector("#tl-budget .main-svg .xtitle")
    assert "estimate" in lab.inner_text("#tl-summary")
    lab.evaluate("document.body.classList.add('dark')")
    dark = lab.evaluate(
        """() => {
            const chart = document.querySelector("#tl-budget .js-plotly-plot");
            const soft = document.body.appendChild(document.createElement("p"));
            soft.style.color = "var(--sx-soft)";
            const style = (e) => getComputedStyle(e);
            const layers = [...chart.querySelectorAll(".main-svg")];
            const grounds = layers.map((e) => style(e).background);
            const words = style(chart.querySelector(".xtitle")).fill;
            return [grounds.join(), words, style(soft).color];
        }"""
    )
    assert "255, 255, 255" not in dark[0]  # a chart stands on the page's own ground
    assert dark[1] == dark[2]
    choice = "getComputedStyle(document.querySelector('#tl-source input')).textOverflow"
    assert lab.evaluate(choice) == "ellipsis"  # not under the arrow of its list


@pytest.mark.parametrize("width", WIDTHS)
def test_both_pages_fit_their_window(page, scripted_url, width):
    for name, ready in (("tree", ".tl-shape"), ("heads", "#hd-recorded")):
        shown = page(f"{scripted_url}/{name}", width)
        shown.wait_for_selector(ready)
        if name == "heads":
            shown.click("#hd-recorded")
            shown.wait_for_selector("#hd-ledger .main-svg")
        assert shown.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_tree_on_view_is_used_in_explore(page, scripted_url):
    lab = page(f"{scripted_url}/tree")
    lab.wait_for_selector(".tl-use")
    lab.click(".tl-use")
    lab.wait_for_selector("#mx-prompt textarea")
    assert "tree=" in lab.url or "step=" in lab.url


def test_a_link_to_a_tree_opens_it(page, scripted_url):
    lab = page(f"{scripted_url}/tree#tree=%5B%5B0%5D%2C%5B1%5D%5D")
    lab.wait_for_selector(".tl-shape")
    assert lab.input_value("#tl-tree textarea") == "[[0], [1]]"
    assert lab.get_attribute(".tl-link", "href") == "tree#tree=%5B%5B0%5D%2C%20%5B1%5D%5D"
