"""A fair race: several decoders in one process, a few steps of each in turn.

Machines drift: a lane that ran alone, later, would be timed on another machine. Interleaved lanes
meet the same one. Each lane's clock counts only its own steps (models/clock.py).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import TypeVar

Item = TypeVar("Item")
Name = TypeVar("Name", bound=Hashable)
TURN = 2  # steps of a lane before the next lane's turn


def interleave(
    lanes: Mapping[Name, Iterator[Item]], turn: int = TURN
) -> Iterator[tuple[Name, Item]]:
    """Take `turn` items of each lane in turn, named, until all lanes have ended.

    The lane that goes first changes from round to round, so that none always runs on warm caches.
    """
    running = dict(lanes)
    order = list(running)
    while running:
        for name in order:
            for _ in range(turn if name in running else 0):
                try:
                    item = next(running[name])
                except StopIteration:
                    del running[name]
                    break
                yield name, item
        order = [*order[1:], order[0]]
