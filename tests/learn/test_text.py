"""Texts of chapters: what stands in them beside Markdown."""

import json

import pytest
from jinja2 import UndefinedError

from explorer.learn import formats, typeset
from explorer.learn.lexicon import known_word
from explorer.learn.symbols import SYMBOLS, marked
from explorer.learn.text import TextError, rendered
from explorer.learn.typeset import NotTypesetError, Typeset, formulas_in


@pytest.fixture
def formulas(tmp_path, monkeypatch):
    (tmp_path / "made.json").write_text(json.dumps({"$K$": "<i>K</i>", "$$E$$": "<b>E</b>"}))
    monkeypatch.setattr(typeset, "FORMULAS", tmp_path)
    return Typeset("made")


def test_numbers_come_from_the_chapter_and_must_exist(formulas):
    html = rendered(
        "{{ bytes | size }} and {{ share | percent }}", {"bytes": 35e9, "share": 0.5}, formulas
    )
    assert html == "<p>35\u202fGB and 50\u202f%</p>\n"
    with pytest.raises(UndefinedError):
        rendered("{{ nowhere }}", {}, formulas)


def test_formulas_are_those_that_were_typeset(formulas):
    html = rendered("A chain of $K$:\n\n$$E$$", {}, formulas)
    assert '<span class="lx-formula lx-inline"><i>K</i></span>' in html
    assert '<span class="lx-formula lx-display"><b>E</b></span>' in html
    with pytest.raises(NotTypesetError, match="page_formulas"):
        rendered("$E$", {}, formulas)


def test_dollars_of_money_are_no_formulas():
    assert formulas_in("It costs 5 $ or $ 6, not $K$, $$E = 1$$ or $K$.") == [
        ("K", False),
        ("E = 1", True),
    ]


def test_words_of_the_glossary_explain_themselves(formulas):
    html = rendered("The [[Hidden state]], two [[roots]], [[heads|Medusa head]].", {}, formulas)
    assert '<span class="lx-term" data-word="hidden state">Hidden state</span>' in html
    assert (
        '<span class="lx-kept"><span class="lx-term" data-word="root">roots</span>,</span>' in html
    )
    assert 'data-word="Medusa head">heads<' in html
    assert known_word("KV cache") == "KV cache"
    with pytest.raises(TextError, match="flux"):
        rendered("[[flux]]", {}, formulas)


def test_citations_name_a_source_of_the_table(formulas):
    html = rendered("[cite: medusa 2.3.1] [cite: leviathan theorem 3.8]", {}, formulas)
    assert "Cai et al. 2024, section 2.3.1" in html
    assert "Leviathan et al. 2023, theorem 3.8" in html
    assert 'href="https://arxiv.org/abs/2401.10774"' in html
    with pytest.raises(TextError, match="nobody"):
        rendered("[cite: nobody]", {}, formulas)


def test_html_in_a_text_stays_text_and_parts_open(formulas):
    html = rendered("<script>\n\n## More\n\nand more", {"x": 1}, formulas)
    assert "<script>" not in html
    assert "<details><summary>More</summary><p>and more</p>\n</details>" in html


def test_symbols_carry_their_numbers_and_words_do_not():
    number = {tex: i for i, tex in enumerate(SYMBOLS)}
    assert marked(r"\alpha^K") == (
        rf"{{\htmlData{{symbol={number[chr(92) + 'alpha']}}}{{\alpha}}}}"
        rf"^{{\htmlData{{symbol={number['K']}}}{{K}}}}"
    )
    whole = r"T_{\text{draft}}"
    assert marked(whole) == rf"{{\htmlData{{symbol={number[whole]}}}{{{whole}}}}}"
    assert marked(r"\frac{\text{K drafts}}{2}") == r"\frac{\text{K drafts}}{2}"


def test_numbers_are_written_plainly():
    assert formats.size(140e9) == "140\u202fGB"
    assert formats.size(96_506_752) == "96.5\u202fMB"
    assert formats.percent(0.997) == "99.7\u202f%"
    assert formats.percent(0.0061) == "0.61\u202f%"
    assert formats.significant(0.01234) == "0.0123"
    assert formats.significant(295.3, 2) == "300"
    assert formats.significant(12345) == "12\u202f300"
    assert formats.millions(148e6) == "148M"
    assert formats.millions(7e9) == "7B"
