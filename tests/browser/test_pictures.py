"""Every card saved as a picture: the file alone shows what the page shows."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from PIL import Image

from explorer.analysis.speedup import with_figures
from tests.browser.steps import Steps
from tests.ui.fakes import FakeLab

CARDS = ["lanes", "race", "cost", "timeline", "tree", "mask", "verdict", "cache", "summary"]
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = (
    "<script>alert(1)</script> <img src=x onerror=alert(1)> &amp; ]]> ‘שלום עולם’ "
    "\x0b\x1b\ufffe\U000e0001 tab\tand\nline"
)


@pytest.fixture(scope="module")
def trace():
    return with_figures(FakeLab(shapes=(1, 4)).trace(max_new_tokens=120))


def saved(steps: Steps, card: str, format: str, folder: Path) -> Path:
    """The file that a reader gets by choosing a format in a card."""
    choice = f".sx-{card} select[aria-label$='save the picture']"
    return steps.download(lambda: steps.choose(choice, format), folder)


def words(text: str) -> str:
    return re.sub(r"\s", "", text)


def shown(steps: Steps, card: str) -> str:
    """All that a card says, its controls left out; what has scrolled out of sight is in it."""
    return steps.ask(
        f"(() => {{ const card = document.querySelector('.sx-{card}').cloneNode(true);"
        " card.querySelectorAll('.sx-tools, button, select, .sx-unseen').forEach(e => e.remove());"
        " return card.textContent; })()"
    )


def said(root: ET.Element) -> str:
    return "".join("".join(text.itertext()) for text in root.iter(f"{SVG}text"))


def active(root: ET.Element) -> list[str]:
    """What could run or fetch something, or needs HTML to be drawn."""
    tags = [e.tag for e in root.iter() if e.tag.split("}")[-1] in ("script", "foreignObject", "a")]
    names = [name for e in root.iter() for name in e.attrib if name.startswith("on")]
    return tags + names + [name for e in root.iter() for name in e.attrib if "href" in name]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_card_is_saved_with_its_words_and_colours(alone, trace, tmp_path, scheme):
    steps = alone(color_scheme=scheme).open(trace).show(8)
    ground = steps.ask("getComputedStyle(document.querySelector('.sx-card')).backgroundColor")
    for card in CARDS:
        path = saved(steps, card, "svg", tmp_path)
        assert path.name == f"medusa-{card}.svg"
        root = ET.parse(path).getroot()
        assert words(said(root)) == words(shown(steps, card)) != "", card
        assert active(root) == [], card
        assert root.find(f"{SVG}rect").get("fill") == ground, card
        assert "var(" not in path.read_text()


def test_every_card_is_saved_as_pixels(alone, trace, tmp_path):
    steps = alone().open(trace).show(8)
    for card in CARDS:
        path = saved(steps, card, "png", tmp_path)
        assert path.name == f"medusa-{card}.png"
        assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
        image = Image.open(path).convert("RGB")
        wide = steps.ask(f"document.querySelector('.sx-{card}').offsetWidth")
        assert image.width >= 2 * wide - 4, card
        colours = sorted(count for count, _ in image.getcolors(1 << 24))
        assert sum(colours[:-1]) > 1000, card  # pixels that are not the ground
        assert len(colours) > 20, card


def test_a_saved_picture_is_drawn_by_a_browser_as_the_page_draws_it(alone, trace, tmp_path):
    """Each word stands where the page has it, and none is squeezed."""
    steps = alone(reduced_motion="reduce").open(trace).show(8)
    for card, selector in {"verdict": ".sx-why p", "cost": ".sx-pays p", "race": "h2"}.items():
        place = steps.page.evaluate(
            "([card, inner]) => { const [outer, text] = [card, `${card} ${inner}`].map(s =>"
            " document.querySelector(s).getBoundingClientRect());"
            " return [text.left - outer.left, text.top - outer.top]; }",
            [f".sx-{card}", selector],
        )
        first = steps.texts(f".sx-{card} {selector}")[0].split()[0]
        page = steps.page.context.new_page()
        page.goto(saved(steps, card, "svg", tmp_path).as_uri())
        found = page.evaluate(
            "first => { const text = [...document.querySelectorAll('text')].find(e =>"
            " e.textContent.startsWith(first)); const box = text.getBoundingClientRect();"
            " return [box.left, box.top, text.textLength.baseVal.value, box.width]; }",
            first,
        )
        assert found[:2] == pytest.approx(place, abs=6), card
        assert found[2] == pytest.approx(found[3], abs=2), card
        page.close()


def test_hostile_text_is_text_in_a_picture(alone, tmp_path):
    trace = FakeLab(HOSTILE).trace(max_new_tokens=200)
    steps = alone().open(trace).show(3).press("t")
    for card in ("lanes", "tree", "verdict"):
        root = ET.parse(saved(steps, card, "svg", tmp_path)).getroot()
        assert active(root) == []
        assert words(said(root)) == words(shown(steps, card)).replace("\ufffe", "\ufffd")
    assert "<script>alert(1)</script>" in said(
        ET.parse(saved(steps, "lanes", "svg", tmp_path)).getroot()
    )
    assert Image.open(saved(steps, "lanes", "png", tmp_path)).format == "PNG"


def test_a_picture_larger_than_a_canvas_is_saved_smaller(alone, tmp_path):
    steps = alone().open(FakeLab(shapes=(5,)).trace(max_new_tokens=12)).show(1)
    for _ in range(12):
        steps.page.click(".sx-tree >> text='+'")
    width, height = Image.open(saved(steps, "tree", "png", tmp_path)).size
    assert max(width, height) <= 16_000
    assert min(width, height) > 100
