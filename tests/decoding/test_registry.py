"""What the registry says of the methods holds, and the README says the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from explorer.decoding.registry import METHODS, find_method, parameter
from explorer.records.errors import ExplorerError
from explorer.records.settings import DecodeSettings, decode_settings

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_a_method_tells_what_it_is(method):
    assert method.explanation.endswith(".")
    assert method.memory
    assert method.source or method.name == "plain"
    for name in method.parameters:
        given = parameter(name)
        assert given.text
        if given.choices:
            assert given.default in given.choices
        else:
            assert given.least <= given.default <= given.most


def test_every_described_setting_belongs_to_a_method():
    described = {name for name, field in DecodeSettings.model_fields.items() if field.description}
    assert described == {name for method in METHODS.values() for name in method.parameters}


def test_ranges_are_enforced():
    for name in ("draft_tokens", "lookahead_window", "lookup_ngram"):
        given = parameter(name)
        for value in (given.least - 1, given.most + 1):
            with pytest.raises(ExplorerError, match=name):
                decode_settings(**{name: value})
    with pytest.raises(ExplorerError, match="temperature above 0"):
        decode_settings(candidates="drawn")
    with pytest.raises(ExplorerError, match="rule 'sample'"):
        decode_settings(candidates="drawn", temperature=1.0, acceptance="typical")


def test_unknown_methods_and_missing_heads_are_one_sentence():
    with pytest.raises(ExplorerError, match="choose one of plain, medusa"):
        find_method("telepathy", {})
    for method in METHODS.values():
        if method.heads:
            with pytest.raises(ExplorerError, match="heads"):
                find_method(method.name, {})
        else:
            assert find_method(method.name, {}) is method


def markdown_table() -> str:
    """The methods with their parameters, as the README shows them."""
    lines = [
        "| method | what it does | parameters | lossless | memory beside the base model |",
        "| --- | --- | --- | --- | --- |",
    ]
    for method in METHODS.values():
        options = [f"`--{name.replace('_', '-')}` {_range(name)}" for name in method.parameters]
        lossless = "yes" if method.lossless else "no"
        lines.append(
            f"| `{method.name}` | {method.explanation} | {', '.join(options) or '–'} | "
            f"{lossless} | {method.memory} |"
        )
    return "\n".join(lines)


def _range(name: str) -> str:
    given = parameter(name)
    return "/".join(given.choices) or f"{given.least}–{given.most}"


def test_the_readme_shows_the_registry():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = text.split("<!-- methods -->\n")[1].split("\n<!-- /methods -->")[0]
    assert shown == markdown_table()


def test_telling_about_methods_needs_no_torch():
    code = "import sys, explorer.decoding.registry; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0
