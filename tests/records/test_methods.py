"""What is said of the methods holds, and the README says the same."""

from __future__ import annotations

import pytest

from explorer.records.errors import ExplorerError
from explorer.records.methods import METHODS, methods_heeding, parameters
from explorer.records.paths import ROOT
from explorer.records.settings import DecodeSettings, decode_settings


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_a_method_describes_itself(method):
    assert method.explanation.endswith(".")
    assert method.memory
    assert method.source or method.name == "plain"
    for given in method.parameters:
        assert given.text
        if given.choices:
            assert given.default in given.choices
        else:
            assert given.minimum <= given.default <= given.maximum


def test_methods_can_be_distinguished():
    for looks in ("title", "code", "colour", "mark"):
        seen = [getattr(method, looks) for method in METHODS.values()]
        assert len(set(seen)) == len(seen), looks


def test_settings_have_the_parameters_of_all_methods():
    settings = DecodeSettings(lookup_tokens=9)
    assert settings.lookup_tokens == 9
    assert settings.draft_tokens == parameters()["draft_tokens"].default
    assert parameters().keys() <= settings.model_dump().keys()
    assert methods_heeding("draft_tokens") == ["draft-model"]


def test_ranges_are_enforced():
    for name in ("draft_tokens", "lookahead_window", "lookup_ngram"):
        given = parameters()[name]
        for value in (given.minimum - 1, given.maximum + 1, "many"):
            with pytest.raises(ExplorerError, match=f"^{name}: .*you gave"):
                decode_settings(**{name: value})
    with pytest.raises(ExplorerError, match="telepathy: there is no such setting"):
        decode_settings(telepathy=1)
    with pytest.raises(ExplorerError, match="temperature above 0"):
        decode_settings(candidates="drawn")
    with pytest.raises(ExplorerError, match="rule 'sample'"):
        decode_settings(candidates="drawn", temperature=1.0, acceptance="typical")


def markdown_table() -> str:
    lines = [
        "| method | what it does | parameters | memory beside the base model |",
        "| --- | --- | --- | --- |",
    ]
    for method in METHODS.values():
        options = [f"`--{own.name.replace('_', '-')}` {own.range}" for own in method.parameters]
        cells = f"`{method.name}`", method.explanation, ", ".join(options) or "–", method.memory
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def test_the_readme_shows_the_methods():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = text.split("<!-- methods -->\n")[1].split("\n<!-- /methods -->")[0]
    assert shown == markdown_table()
