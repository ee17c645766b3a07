"""The recorded runs of the gallery, as chapters read them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache

from explorer.records.files import read_trace
from explorer.records.paths import ASSETS
from explorer.records.piece import shortened
from explorer.records.schema import Trace
from explorer.records.step import Position, Step, TopTokens
from explorer.records.text import join_pieces, piece_of

TRACES = ASSETS / "traces"
RECORDED, OWN = "the recorded run", "your run"  # what a text calls the run that it looks at


@cache
def recorded_run(name: str) -> Trace:
    """A run by its name in the gallery, or its file's without the ending. Raises LookupError."""
    return read_trace(TRACES / _entry(name)["file"])


def gallery_name(name: str) -> str:
    """What the gallery calls a run, for a link to it. Raises LookupError."""
    return _entry(name)["name"]


def _entry(name: str) -> dict[str, str]:
    entries = json.loads((TRACES / "index.json").read_text(encoding="utf-8"))
    for entry in entries:
        file = entry.get("file")
        if file and name in (entry["name"], file.removesuffix(".json.gz")):
            return entry
    raise LookupError(f"no run {name} was recorded")


@cache
def positions_of(name: str) -> dict[int, Position]:
    """Predictions by the absolute position that they were made at."""
    trace = recorded_run(name)
    first = trace.header.prompt_position
    known = [first] if first else []
    known += [position for step in trace.steps for position in step.positions]
    return {position.index: position for position in known}


def heads_before(name: str, step: Step) -> Sequence[TopTokens]:
    """What each head predicted from the token before the root, where drafts come from."""
    found = positions_of(name).get(step.context_length - 1)
    return found.heads if found else []


def label(trace: Trace, token: int, limit: int = 14) -> str:
    """A token as a page writes it."""
    return shortened(piece_of(trace.pieces, token).label, limit)


def texts_of(trace: Trace, tokens: Sequence[int]) -> str:
    """What tokens say together, spaces as they are; bytes that are no text as marks."""
    return join_pieces(trace.pieces, tokens)
