"""The parts of a step's time, and the time that recording a trace adds.

Decoding without recording, decoding with recording and plain decoding run interleaved on the same
prompts, so that the comparison holds on a machine whose speed drifts.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel as Schema
from pydantic import ConfigDict

from explorer.analysis.shares import Shares, shares
from explorer.decoding.loop import StepResult
from explorer.measuring.race import interleave
from explorer.records.settings import DecodeSettings

if TYPE_CHECKING:
    from explorer.measuring.lab_protocol import LabProtocol

Item = TypeVar("Item")


class Overhead(Schema):
    """One tree: the parts of its step, and the cost of recording.

    `recording` is what taking a step's snapshot adds to a step: 0.03 means 3 % slower. It is
    measured as recording on versus off and may come out a little below 0. `writing_ms` is how long
    it then takes to make the step's record, which no step waits for: it is made when the run is
    over, or on a page between two steps.
    """

    model_config = ConfigDict(frozen=True)

    tree: str
    nodes: int
    n: int
    steps: int
    step_ms: float
    shares: Shares | None
    recording: float | None
    writing_ms: float | None


def measure_overhead(
    lab: LabProtocol, prompts: Sequence[str], settings: DecodeSettings
) -> Overhead:
    """Shares and recording cost of `settings` over the prompts, which are run through once each.

    Raises ExplorerError for a tree that does not fit the heads.
    """
    laps: list[dict[str, float]] = []
    rows: list[int] = []
    spent = {"off": 0.0, "on": 0.0}
    writing = 0.0
    for prompt in prompts:
        lanes = {
            "off": timed(lab.steps(lab.encode(prompt, settings), settings)),
            "on": timed(lab.pending(prompt, settings)),
        }
        pending = []
        for name, (item, seconds) in interleave(lanes, turn=1):
            if name == "off" and isinstance(item, StepResult) and item.verdict is not None:
                laps.append(item.laps)
                rows.append(item.draft.tree.n)
            if name == "on":
                pending.append(item)
            if seconds is not None:
                spent[name] += seconds
        writing += _seconds_to_write(pending)
    n = round(statistics.median(rows)) if rows else 1  # trees may follow the context's length
    return Overhead(
        tree=settings.tree,
        nodes=n - 1,
        n=n,
        steps=len(laps),
        step_ms=1000 * sum(sum(lap.values()) for lap in laps) / max(1, len(laps)),
        shares=shares(laps),
        recording=spent["on"] / spent["off"] - 1 if spent["off"] > 0 else None,
        writing_ms=1000 * writing / len(laps) if laps else None,
    )


def _seconds_to_write(pending: Sequence[Callable[[], Iterator[object]]]) -> float:
    """How long it takes to make all records of a run whose steps have been taken."""
    start = time.perf_counter()
    for make in pending:
        for _ in make():
            pass
    return time.perf_counter() - start


def timed(items: Iterator[Item]) -> Iterator[tuple[Item, float | None]]:
    """Each item with the seconds that it took; None for the first, which holds the prefill."""
    first = True
    while True:
        start = time.perf_counter()
        try:
            item = next(items)
        except StopIteration:
            return
        yield item, None if first else time.perf_counter() - start
        first = False


def wide_tree(num_heads: int) -> str:
    """A tree of 64 nodes that these heads can fill, for the bar that is set at that size."""
    widths = {1: "64", 2: "4,15"}.get(num_heads, "4,3,4")
    return f"cartesian:{widths}"
