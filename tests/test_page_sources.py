"""What the page has from Python is up to date, and stands once: records' types, and colours."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys

import pytest

from explorer.records.methods import METHODS
from tests.node import ROOT

ASSETS = ROOT / "assets"
PALETTE = ASSETS / "step_explorer" / "palette.css"
STYLES = [path for path in sorted(ASSETS.rglob("*.css")) if path != PALETTE]
WRITTEN = {
    "page_types.py": ROOT / "types" / "records.d.ts",
    "page_palette.py": PALETTE,
    "page_glossary.py": ASSETS / "step_explorer" / "glossary.js",
    "page_reasons.py": ASSETS / "step_explorer" / "reasons.js",
}


@pytest.mark.parametrize("tool", WRITTEN)
def test_what_is_written_from_python_is_up_to_date(tool):
    path = str(ROOT / "tools" / tool)
    script = f"import runpy; print(runpy.run_path({path!r})['declarations'](), end='')"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == WRITTEN[tool].read_text(encoding="utf-8"), f"run python tools/{tool}"


def test_no_colour_stands_outside_the_palette():
    python = [ROOT / "explorer" / "ui" / "theme.py", ROOT / "explorer" / "records" / "methods.py"]
    sources = [*STYLES, *ASSETS.rglob("*.js"), *python]
    colours = re.compile(r"#[0-9a-f]{3,8}\b|\brgba?\(\d{2,}|\bhsla?\(", re.IGNORECASE)
    found = {
        str(path.relative_to(ROOT)): colours.findall(path.read_text(encoding="utf-8"))
        for path in sources
    }
    assert {path: some for path, some in found.items() if some} == {}


def test_every_variable_that_a_style_uses_is_set():
    texts = [path.read_text(encoding="utf-8") for path in (PALETTE, *STYLES)]
    texts += [path.read_text(encoding="utf-8") for path in ASSETS.rglob("*.js")]
    texts += [method.colour for method in METHODS.values()]
    used = {name for text in texts for name in re.findall(r"var\((--(?:sx|cx|mx)-[\w-]+)", text)}
    known = {name for text in texts for name in re.findall(r"(--(?:sx|cx|mx)-[\w-]+)\s*:", text)}
    assert len(used) > 30
    assert used - known == set()


def test_every_colour_of_the_palette_is_used():
    from explorer.figures.palette import PAGE
    from explorer.ui.theme import COLOURS

    texts = [path.read_text(encoding="utf-8") for path in STYLES]
    used = {name for text in texts for name in re.findall(r"var\(--sx-([\w-]+)", text)}
    assert set(PAGE) - used - set(COLOURS.values()) == set()


def test_the_glossary_explains_every_word_of_its_tables_in_one_sentence():
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    words = runpy.run_path(str(ROOT / "tools" / "page_glossary.py"))["glossary"](text)
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    tables = sum(line.startswith("| ---") for line in rows)
    assert len(words) == len(rows) - 2 * tables > 40
    for word, meaning in words.items():
        assert re.fullmatch(r"[A-Z][^.]*(?:\.\d[^.]*)*\.", meaning), word
        assert len(meaning) <= 160, word
