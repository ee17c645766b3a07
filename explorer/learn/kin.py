"""What is published of each method that guesses ahead, and what engines serve, with sources."""

from __future__ import annotations

import json
from dataclasses import dataclass

from explorer.records.paths import ASSETS

_FILE = json.loads((ASSETS / "learn" / "family.json").read_text(encoding="utf-8"))
AS_OF: str = _FILE["as_of"]  # the status of engines


@dataclass(frozen=True)
class Kin:
    """One method.

    `guesses`: who guesses ("nobody", "base", "heads", "model", "text"), "parallel" or "serial", and
    whether a "chain" or a "tree" is checked; its picture is made of them. `published`: the speedup
    that its authors or tutorials give, with hardware and year; “tutorials” are the comparison that
    many introductions print, quoted as a claim. `cited`: rows of explorer/learn/sources.py.
    `method`: its name in this product, whose measured figures stand beside the published ones.
    """

    key: str
    name: str
    line: str
    guesses: tuple[str, str, str]
    drafting: str
    memory: str
    verification: str
    drift: str
    published: str
    parallel: str
    training: str
    cited: tuple[str, ...]
    method: str | None


@dataclass(frozen=True)
class Engine:
    """What an engine serves: Medusa or not, tree or chain, and what it has instead."""

    name: str
    medusa: str
    shape: str
    instead: str


KIN = tuple(
    Kin(**entry | {name: tuple(entry[name]) for name in ("guesses", "cited")})
    for entry in _FILE["members"]
)
ENGINES = tuple(Engine(**entry) for entry in _FILE["engines"])
