"""Prompts from a user: files with one JSON object a line, or text from stdin.

A line is `{"id": …, "category": …, "prompt": …}`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TypedDict

from explorer.records.errors import ExplorerError
from explorer.records.paths import ASSETS

STDIN = "-"
EXAMPLE = '{"id": "a-1", "category": "chat", "prompt": "…"}'
BUILT_IN = ASSETS / "prompts.jsonl"
MAX_BYTES = 64 * 2**20


class Prompt(TypedDict):
    """One prompt of a file: what it is called, what kind it is of, and its text."""

    id: str
    category: str
    prompt: str


def read_prompts(path: str, limit: int | None = None) -> list[Prompt]:
    """The first `limit` prompts of a JSON-lines file; `-` is stdin.

    Each has "id" (its line's number by default), "category" ("all" by default) and "prompt".
    Raises ExplorerError: missing, unreadable or empty file, or a line that is not a prompt.
    """
    name = "stdin" if path == STDIN else path
    text = read_stdin() if path == STDIN else _read(path)
    prompts = parse_prompts(text, name)
    return prompts if limit is None else prompts[:limit]


def parse_prompts(text: str, name: str) -> list[Prompt]:
    """The prompts of a JSON-lines text, which messages call `name`; errors as in `read_prompts`."""
    prompts: list[Prompt] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            prompts.append(_parse(line, f"Line {number} of {name}", number))
    if not prompts:
        raise ExplorerError(f"There is no prompt in {name}: write lines like {EXAMPLE}.")
    return prompts


def _read(path: str) -> str:
    try:
        file = Path(path).expanduser()
        if file.stat().st_size > MAX_BYTES:
            raise ExplorerError(f"{path} is larger than {MAX_BYTES >> 20} MB: give fewer prompts.")
        return file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ExplorerError(f"There is no prompts file at {path}: check the path.") from None
    except UnicodeDecodeError as error:
        raise ExplorerError(f"{path} is not UTF-8 text: write lines like {EXAMPLE}.") from error
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: no such ~user
        reason = getattr(error, "strerror", None) or error
        raise ExplorerError(f"{path} cannot be read ({reason}): give a file of prompts.") from error


def _parse(line: str, where: str, number: int) -> Prompt:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ExplorerError(f"{where} is not JSON: write lines like {EXAMPLE}.") from error
    if not isinstance(record, dict) or "prompt" not in record:
        raise ExplorerError(f"{where} has no key 'prompt': write lines like {EXAMPLE}.")
    prompt = record["prompt"]
    if not isinstance(prompt, str) or not prompt.strip():
        raise ExplorerError(f"{where} has an empty prompt, or one that is not text.")
    identity, category = record.get("id", number), record.get("category", "all")
    if isinstance(identity, bool) or not isinstance(identity, int | str):
        raise ExplorerError(f"{where} has an id that is neither text nor a whole number.")
    if not isinstance(category, str):
        raise ExplorerError(f"{where} has a category that is not text.")
    return {"id": str(identity), "category": category, "prompt": require_text(prompt, where)}


def read_stdin() -> str:
    """All of stdin, as UTF-8. Raises ExplorerError if it is anything else."""
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ExplorerError("stdin is not UTF-8 text: convert it first.") from error


def require_text(text: str, what: str) -> str:
    """The text, if it can be written as UTF-8. Raises ExplorerError."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ExplorerError(f"{what} is not UTF-8 text: convert it first.") from error
    return text
