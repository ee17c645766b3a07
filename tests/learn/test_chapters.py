"""Every chapter renders without a model, and the document holds them all."""

import gzip
import json
import re
import runpy
import subprocess
import sys

import pytest

from explorer.learn import teacher, worksheet
from explorer.learn.chapters import chapters, tour
from explorer.learn.document import Place, data_json, document
from explorer.learn.lexicon import LESSONS, glossary
from explorer.learn.outline import TITLES
from explorer.learn.pages import PAGES
from explorer.learn.typeset import FORMULAS, TEXTS
from explorer.records.files import read_trace
from explorer.records.paths import ASSETS, ROOT

CHAPTERS = {chapter.key: chapter for chapter in chapters()}


@pytest.mark.parametrize("key", CHAPTERS)
def test_a_chapter_has_a_text_and_data(key):
    chapter = CHAPTERS[key]
    html = chapter.html()
    assert html.startswith("<p>")
    assert "{{" not in html
    assert "[[" not in html
    assert "$" not in html
    assert isinstance(json.loads(data_json(key) or ""), dict)


@pytest.mark.parametrize("key", CHAPTERS)
def test_a_chapter_leads_to_a_step_that_was_recorded(key):
    find = CHAPTERS[key].see
    see = find and find()
    if see is None:
        pytest.skip("this chapter leads nowhere")
    index = json.loads((ASSETS / "traces" / "index.json").read_text(encoding="utf-8"))
    files = {entry["name"]: entry.get("file") for entry in index}
    trace = read_trace(ASSETS / "traces" / files[see.trace])
    assert 1 <= see.step <= len(trace.steps)
    assert see.what


def test_no_key_is_given_twice_and_files_belong_to_chapters():
    assert len(CHAPTERS) == len(chapters())
    assert {path.stem for path in TEXTS.glob("*.md")} == set(CHAPTERS)


def test_titles_are_those_of_the_outline():
    assert {key: chapter.title for key, chapter in CHAPTERS.items()}.items() <= TITLES.items()


def test_every_word_of_the_glossary_has_a_chapter():
    assert set(LESSONS) == set(glossary())
    assert set(LESSONS.values()) <= set(TITLES)


def test_a_lesson_takes_45_minutes_and_its_sheet_has_answers():
    assert teacher.numbers()["minutes"] == 45
    assert {lesson for _, lesson, *_ in teacher.PLAN if lesson} <= set(TITLES)
    answers = {one.lesson: one.answer for one in worksheet.questions()}
    assert set(answers) <= set(TITLES)
    assert answers["tree"] == "4 paths, 10 nodes, 11 rows."  # 2 + 4 + 4, and the root


def test_the_document_holds_every_chapter_and_links_to_every_page():
    html = document()
    for i, chapter in enumerate(tour(), 1):
        assert f'id="{chapter.key}"' in html
        assert f'<span class="lx-number">{i}</span> {chapter.title}' in html
    for name, address in PAGES.items():
        assert f'href="{address}"' in html, name
    assert '<script src="learn-files/main.js" type="module">' in html
    addresses = re.findall(r'(?:href|src)="([^"#]*)', html)
    assert not [one for one in addresses if one.startswith("/")]  # behind a proxy's prefix, too


def test_a_document_without_a_server_has_addresses_of_its_own():
    pages = {"Explore": "index.html", "Learn": "learn.html"}
    html = document(Place(pages, "site.js", main="learn-files/main.js", live=""))
    assert '<script src="site.js" defer data-main="learn-files/main.js">' in html
    assert 'href="index.html#trace=' in html
    assert '"live": ""' in html


def test_formulas_are_typeset_as_they_stand_in_the_texts():
    files = runpy.run_module("tools.page_formulas")["files"]()
    there = {path: path.read_text(encoding="utf-8") for path in FORMULAS.glob("*.json")}
    assert files == there, "run python -m tools.page_formulas"


def test_a_page_of_recorded_runs_needs_no_torch():
    script = (
        "import sys; from explorer.learn.document import data_json, document;"
        "from explorer.learn.chapters import chapters; document();"
        "[data_json(chapter.key) for chapter in chapters()];"
        "print(sorted({'torch', 'transformers', 'gradio'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_a_chapter_is_light():
    """No chapter loads more than 400 KB beyond its traces: frame, text, modules, data, fonts."""
    page = document()
    folders = {"step_explorer": "step_explorer", "ui-files": "ui", "learn-files": "learn"}
    shared = [
        ASSETS / folders[folder] / rest
        for folder, rest in re.findall(r'rel="stylesheet" href="([\w-]+)/([^"]+)"', page)
    ]
    shared += TEXTS.glob("katex/fonts/KaTeX_Ma*")
    # The document is sent compressed (explorer/ui/compressed.py).
    frame = sum(path.stat().st_size for path in shared) + len(gzip.compress(page.encode()))
    for key, chapter in CHAPTERS.items():
        modules = imported(TEXTS / f"{key}.js") if chapter.has_widget else set()
        modules |= imported(TEXTS / "main.js")
        own = sum(path.stat().st_size for path in modules) + len((data_json(key) or "").encode())
        assert frame + own < 400_000, (key, frame, own)


def imported(path):
    """A module's file and those of all that it imports."""
    found, waiting = set(), [path.resolve()]
    while waiting:
        module = waiting.pop()
        if module in found:
            continue
        found.add(module)
        text = module.read_text(encoding="utf-8")
        names = re.findall(r'^import .* from "(\.[^"]+)"|^\} from "(\.[^"]+)"', text, re.MULTILINE)
        waiting += [(module.parent / (one or other)).resolve() for one, other in names]
    return found
