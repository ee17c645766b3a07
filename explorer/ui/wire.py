"""A run's events as the page's browser side reads them: small, and flat over the run.

A step of 64 nodes is about 25 KB of plain JSON. Here probabilities travel as millionths (the
recorder keeps six decimals), a piece is sent once, a verdict is a letter, and the heads'
predictions at earlier positions, which the recorder sends in bunches, are spread over the steps.
The counterpart is assets/step_explorer/wire.js.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from explorer.records.events import (
    Event,
    LaneNumber,
    RunStarted,
    StepRecorded,
)
from explorer.records.figures import RaceFigures
from explorer.records.floor import StepFloor
from explorer.records.piece import Piece
from explorer.records.step import Position, Step, Timings, TopTokens

MILLION = 1_000_000
MAX_POSITIONS = 2  # sent with one step; more wait for the next
TIME_DECIMALS = 4  # of milliseconds
LETTERS = {"root": "o", "accepted": "a", "rejected": "r", "pruned": "p"}


class Wire:
    """Packs the events of one run. `packed` holds all of them, for a browser that missed some.

    An event is a list: its kind, its lane, and what it holds. The piece of a token that waits with
    its position is sent with the step that brought it.
    """

    def __init__(self) -> None:
        self.packed: list[list[Any]] = []
        self._waiting: dict[LaneNumber, list[Position]] = {0: [], 1: []}
        self._sent: set[int] = set()

    def add(self, event: Event) -> None:
        """Pack the next event."""
        lane, pieces = event.lane, self._pieces(event.pieces)
        if isinstance(event, RunStarted):
            self.packed.append(["run", lane, event.header.model_dump(mode="json"), pieces])
        elif isinstance(event, StepRecorded):
            waiting = [*self._waiting[lane], *event.step.positions]
            step = _step(event.step, waiting[:MAX_POSITIONS])
            self._waiting[lane] = waiting[MAX_POSITIONS:]
            trees = [tree.model_dump() for tree in event.trees]
            self.packed.append(["step", lane, step, pieces, trees])
        else:
            self._waiting[lane] += event.positions
            self._rest(lane, pieces)

    def end(self) -> None:
        """The run has ended: pack what still waits."""
        for lane in self._waiting:
            self._rest(lane, [])

    def message(self, run: str, first: int, live: bool, figures: RaceFigures | None = None) -> str:
        """The packed events from number `first` on, as one JSON message of the run called `run`."""
        events = self.packed[first:]
        message = {"run": run, "first": first, "events": events, "live": live}
        if figures is not None:
            message["figures"] = figures.model_dump()
        text = json.dumps(message, separators=(",", ":"), ensure_ascii=False)
        return text.replace("<", "\\u003c")  # nothing that could be an HTML tag

    def _rest(self, lane: LaneNumber, pieces: list[Any]) -> None:
        waiting, self._waiting[lane] = self._waiting[lane], []
        if waiting or pieces:
            positions = [_position(position) for position in waiting]
            self.packed.append(["positions", lane, positions, pieces])

    def _pieces(self, pieces: Mapping[int, Piece]) -> list[Any]:
        """Id and how the token is written, in turn: its text where that is its label, too, else
        [label, text], or [label, null, hex] if the bytes alone are not text."""
        out: list[Any] = []
        for token, piece in pieces.items():
            if token not in self._sent:
                self._sent.add(token)
                out += [token, _written(piece)]
        return out


def _written(piece: Piece) -> str | list[str | None]:
    if piece.text is None:
        return [piece.label, None, piece.bytes]
    return piece.text if piece.label == piece.text else [piece.label, piece.text]


def _millionths(value: float) -> int:
    return round(value * MILLION)


def _many(values: Sequence[float]) -> list[int]:
    return [round(value * MILLION) for value in values]


def _step(step: Step, positions: Sequence[Position]) -> dict[str, Any]:
    width = len(step.base_top[0].ids) if step.base_top else 0
    return {
        "i": step.index,
        "c": step.context_length,
        "t": step.tree,
        "id": step.token_ids,
        "d": _many(step.draft_probs),
        "j": _many(step.joint_probs),
        "b": _many(step.base_probs),
        "r": step.base_ranks,
        "w": step.choices,
        "h": None if step.thresholds is None else _many(step.thresholds),
        "v": "".join(LETTERS[verdict] for verdict in step.verdicts),
        "k": width,
        "ti": [token for top in step.base_top for token in top.ids],
        "tp": [_millionths(prob) for top in step.base_top for prob in top.probs],
        "a": step.accepted,
        "e": step.emitted,
        "n": step.bonus,
        "np": None if step.bonus_prob is None else _millionths(step.bonus_prob),
        "p": [_position(position) for position in positions],
        "o": step.draft_top and [_top(top) for top in step.draft_top],
        "pr": step.price,
        "pm": step.promise,
        "y": step.trials and [[t.row, *_many([t.p, t.q, t.chance, t.coin])] for t in step.trials],
        "z": step.residual and _top(step.residual),
        "u": step.reasons and _coded(step.reasons),
        "s": step.stages,
        "l": step.lookahead and step.lookahead.model_dump(),
        "f": step.floor and _floor(step.floor),
        "fx": step.over_floor,
        "ms": [round(getattr(step.timings, name), TIME_DECIMALS) for name in Timings.model_fields],
    }


def _coded(codes: Sequence[str]) -> list[Any]:
    """Codes, each once, and then per row the number of its code."""
    known = list(dict.fromkeys(codes))
    return [known, [known.index(code) for code in codes]]


def _position(position: Position) -> list[Any]:
    heads = [_top(top) for top in position.heads]
    return [position.index, position.base_choice, *heads]


def _top(top: TopTokens) -> list[list[int]]:
    return [top.ids, _many(top.probs)]


def _floor(floor: StepFloor) -> list[float | None]:
    """Bytes, milliseconds, and those of arithmetic where they are known."""
    arithmetic = floor.arithmetic_ms
    least = round(floor.milliseconds, TIME_DECIMALS)
    return [floor.bytes, least, arithmetic and round(arithmetic, TIME_DECIMALS)]
