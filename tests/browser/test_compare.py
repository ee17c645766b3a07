"""The Compare page: with scripted races, and once with the default model."""

from __future__ import annotations

import csv
import io
import json

import pytest

from tests.browser.compare import QUICK_MS, Compare
from tests.browser.test_access import serious

HOSTILE = "<img src=x onerror=\"document.title='owned';alert(1)\"> quick differ"
PLACES = (
    "[...document.querySelectorAll('.cx > *')]"
    ".map(e => Math.round(e.getBoundingClientRect().top + scrollY))"
)


@pytest.fixture
def compare(browser):
    """Opens the Compare page, each time as another visitor."""
    contexts = []

    def open_page(url: str, **options: object) -> Compare:
        options = {"viewport": {"width": 1440, "height": 1000}} | options
        contexts.append(browser.new_context(accept_downloads=True, **options))
        return Compare(contexts[-1].new_page(), url)

    yield open_page
    for context in contexts:
        context.close()


def test_table_charts_and_files_agree(scripted_url, compare, tmp_path):
    options = {"permissions": ["clipboard-read", "clipboard-write"]}
    page = compare(scripted_url, **options).ready().ask("quick one", HOSTILE).done()
    found = page.record(tmp_path)
    assert found["prompts"] == 2
    assert [record["prompt"] for record in found["asked_prompts"]] == ["quick one", HOSTILE]
    for method, details in found["details"].items():
        figures, cells = found["methods"][method], page.row(method)
        assert cells[0] == f"{figures['tokens_per_second']:.1f}"
        assert cells[1] == f"{details['plain_tokens_per_second']:.1f}"
        assert f"{figures['speedup']:.2f}×" in cells[2]
        assert f"± {details['half_width']:.2f}" in cells[2]
        assert cells[3] == f"{figures['tokens_per_step']:.2f}"
        assert cells[8].startswith(f"{details['identical_prompts']} of 2")
    floor = found["floor"]
    for method, figures in {"plain": floor, **floor["methods"]}.items():
        assert page.row(method)[6] == f"{figures['step_over_floor']:.2f}×"
    assert floor["sentence"] in page.page.inner_text(".cx")
    assert "needs Hydra heads" in page.page.inner_text(".cx-reason")
    assert page.page.locator(".cx-cell").count() == 2
    assert page.page.locator(".sx-categories .cx-mark").count() >= len(found["details"])

    rows = list(csv.DictReader(io.StringIO(page.saved("CSV", tmp_path))))
    assert [row["method"] for row in rows] == list(found["methods"])
    assert float(rows[1]["speedup"]) == found["methods"]["medusa"]["speedup"]
    page.page.click("text=Copy as Markdown")
    page.page.wait_for_selector("text=Copied")
    text = page.page.evaluate("navigator.clipboard.readText()")
    assert f"| `medusa` | {found['methods']['medusa']['tokens_per_second']:.1f} |" in text
    assert len({line.count("|") for line in text.split("\n\n")[0].splitlines()}) == 1

    page.page.click("tr[data-method='medusa'] .cx-link")
    differs = page.page.inner_text(".cx-differs")
    race = next(race for race in found["races"] if race["difference"])
    assert f"≠ at token {race['difference']['position']}" in differs
    assert page.page.locator(".cx-evidence thead th").count() == 2  # the prompt, and medusa alone
    assert page.page.locator("img[src=x]").count() == 0
    assert page.page.title() == "Medusa Explorer"
    assert page.dialogs == page.errors == []


def test_cancel_keeps_the_finished_prompts_and_a_second_tab_waits(scripted_url, compare, tmp_path):
    first, second = compare(scripted_url).ready(), compare(scripted_url).ready()
    first.ask("first", "second", "third", "fourth")
    first.page.wait_for_selector(".sx-table tr[data-method='medusa']", timeout=30_000)
    first.page.wait_for_selector(".cx:not(.is-empty)", timeout=30_000)
    places = first.page.evaluate(PLACES)
    second.ask("quick", methods=("medusa",)).wait_for("is-waiting")
    assert "1 run before yours" in second.status
    first.page.wait_for_selector(".cx-evidence tbody tr:nth-child(2)", timeout=30_000)
    assert first.page.evaluate(PLACES) == places  # nothing moves as results come
    first.page.click(".cx-cancel")
    first.done()
    assert "Cancelled: the figures are of the" in first.status
    assert 2 <= first.record(tmp_path)["prompts"] < 4
    second.done()
    assert second.record(tmp_path)["prompts"] == 1
    first.ask("quick again")
    first.page.wait_for_selector(".cx-evidence >> text=quick again")
    assert first.done().record(tmp_path)["prompts"] == 1


def test_prompts_from_a_file_and_a_refusal(scripted_url, compare, tmp_path):
    page = compare(scripted_url).ready()
    file = tmp_path / "p.jsonl"
    lines = [{"id": "a", "category": "x", "prompt": "quick"}, {"category": "y", "prompt": "quick"}]
    file.write_text("\n".join(map(json.dumps, lines)))
    page.page.check("input[name=cx-source][value=file]")
    page.page.set_input_files(".cx-file input", file)
    page.page.wait_for_selector("text=2 lines")
    page.page.click(".cx-primary")
    page.done()
    assert [(r["id"], r["category"]) for r in page.record(tmp_path)["asked_prompts"]] == [
        ("a", "x"),
        ("2", "y"),
    ]
    measured = page.row("medusa")
    page.ask(" ", methods=("medusa",)).wait_for("is-failed")
    assert page.row("medusa") == measured  # what was measured before stays on view
    page.ask("refuse")  # by the model, after its turn had come
    page.page.wait_for_selector(".cx-status.is-failed :text('<img src=x')")  # as text
    assert page.row("medusa") == measured
    assert page.page.locator("img[src=x]").count() == 0
    page.ask("quick").done()
    assert page.errors == []


def test_the_pages_lead_to_each_other(scripted_url, compare):
    page = compare(scripted_url).ready().page
    page.click(".mx-pages >> text=Explore")
    page.wait_for_selector("#mx-run")
    assert page.inner_text(".mx-pages [aria-current]") == "Explore"
    page.click(".mx-pages >> text=Compare")
    page.wait_for_selector(".cx-status")
    assert page.inner_text(".mx-pages [aria-current]") == "Compare"
    assert page.locator("nav:visible").count() == 1  # Gradio's own is not shown


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1440, "light")])
def test_it_fits_and_axe_finds_nothing_serious(scripted_url, compare, width, scheme):
    size = {"width": width, "height": 844}
    page = compare(scripted_url, viewport=size, color_scheme=scheme).ready()
    assert page.page.evaluate("document.documentElement.scrollWidth") <= width
    page.ask("quick one", "quick differ").done()
    assert page.page.evaluate("document.documentElement.scrollWidth") <= width
    assert serious(page) == []


def test_the_default_model_compared(real_url, compare, tmp_path):
    page = compare(real_url).ready()
    methods = ("medusa", "prompt-lookup")
    page.ask("Say hello.", "Count from one to five.", tokens=8, methods=methods).done()
    found = page.record(tmp_path)
    assert (found["prompts"], found["identical_prompts"]) == (2, 2)
    assert set(found["methods"]) == {"plain", *methods}
    for method in methods:
        assert f"{found['methods'][method]['speedup']:.2f}×" in page.row(method)[2]
        assert found["details"][method]["prediction"]["measured_speedup"] > 0
    memory = found["details"]["medusa"]["memory"]
    assert f"{memory['megabytes']:.1f} MB" in page.row("medusa")[7]
    assert f"{memory['megabytes']:.1f} MB" in page.page.inner_text(".sx-table .cx-note")
    page.page.wait_for_selector("text=wrote exactly the token ids", timeout=QUICK_MS)
    assert page.errors == []
