"""What is published of each method that guesses ahead, and what engines serve, with sources."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from explorer.learn.sources import SOURCES
from explorer.records.paths import ASSETS

_FILE = json.loads((ASSETS / "learn" / "family.json").read_text(encoding="utf-8"))
AS_OF: str = _FILE["as_of"]  # the status of engines
CHECKED: str = _FILE["checked"]  # when figures and engines were compared with their sources
TUTORIALS = "tutorials"


@dataclass(frozen=True)
class Figure:
    """A published speed. `source`: a row of explorer/learn/sources.py, or “tutorials”.

    “Tutorials” are the comparison that many introductions print, quoted as a claim: they name
    neither models nor hardware.
    """

    source: str
    says: str
    of: str
    hardware: str
    date: str

    def __str__(self) -> str:
        if not self.source:
            return self.says
        if self.source == TUTORIALS:
            return f"{TUTORIALS}: {self.says}"
        name = SOURCES[self.source].name
        where = [self.of, self.hardware, "" if self.date in name else self.date]
        return f"{name}: {self.says} ({'; '.join(filter(None, where))})"


@dataclass(frozen=True)
class Kin:
    """One method.

    `guesses`: who guesses ("nobody", "base", "heads", "model", "text"), "parallel" or "serial", and
    whether a "chain" or a "tree" is checked; its picture is made of them. `cited`: rows of
    explorer/learn/sources.py. `method`: its name in this product, whose measured figures stand
    beside the published ones.
    """

    key: str
    name: str
    line: str
    guesses: tuple[str, str, str]
    drafting: str
    memory: str
    verification: str
    drift: str
    published: tuple[Figure, ...]
    parallel: str
    training: str
    cited: tuple[str, ...]
    method: str | None


@dataclass(frozen=True)
class Engine:
    """What an engine serves: Medusa or not, tree or chain, what it has instead; its own words."""

    name: str
    medusa: str
    shape: str
    instead: str
    url: str


def _kin(entry: dict[str, Any]) -> Kin:
    several: dict[str, Any] = {name: tuple(entry[name]) for name in ("guesses", "cited")}
    several["published"] = tuple(Figure(**figure) for figure in entry["published"])
    return Kin(**entry | several)


KIN = tuple(_kin(entry) for entry in _FILE["members"])
ENGINES = tuple(Engine(**entry) for entry in _FILE["engines"])
