"""Prompt files."""

import io
import sys

import pytest

from explorer.records.errors import ExplorerError
from explorer.records.prompts import BUILT_IN, read_prompts


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("", "no prompt in"),
        ("\n \n", "no prompt in"),
        ("not json\n", "Line 1 of .* is not JSON"),
        ('{"prompt": "x"}\n{"id": 3}\n', "Line 2 of .* has no key 'prompt'"),
        ('["prompt"]\n', "no key 'prompt'"),
        ('{"prompt": ""}\n', "empty prompt"),
        ('{"prompt": 5}\n', "empty prompt"),
        ('{"prompt": "x", "id": [1]}\n', "an id"),
        ('{"prompt": "x", "category": 1}\n', "a category"),
        ('{"prompt": "\\ud800"}\n', "not UTF-8"),
        ("[" * 5000, "is not JSON"),
    ],
)
def test_bad_prompts_files(tmp_path, text, hint):
    file = tmp_path / "prompts.jsonl"
    file.write_text(text)
    with pytest.raises(ExplorerError, match=hint):
        read_prompts(str(file))


def test_prompts_files_of_the_wrong_kind(tmp_path):
    with pytest.raises(ExplorerError, match="cannot be read"):
        read_prompts(str(tmp_path))
    with pytest.raises(ExplorerError, match="cannot be read"):
        read_prompts("~nobody-of-that-name/prompts.jsonl")
    (tmp_path / "latin").write_bytes(b'{"prompt": "\xff"}')
    with pytest.raises(ExplorerError, match="not UTF-8"):
        read_prompts(str(tmp_path / "latin"))


def test_prompts_from_stdin_with_a_limit(monkeypatch):
    lines = b'\xef\xbb\xbf{"prompt": "One"}\n{"prompt": "Two"}\n'
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines)))
    assert [p["prompt"] for p in read_prompts("-", limit=1)] == ["One"]


def test_built_in_prompts_are_sound():
    prompts = read_prompts(str(BUILT_IN))
    assert len({p["id"] for p in prompts}) == len(prompts) >= 10
