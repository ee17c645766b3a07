"""Events that are still to be made: a run need not wait for its records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from explorer.analysis.speedup import with_figures
from explorer.records.events import Event, collect
from explorer.records.schema import Trace

Pending = Callable[[], Iterator[Event]]


def made(pending: Iterable[Pending]) -> Iterator[Event]:
    """The events, in their order."""
    for make in pending:
        yield from make()


def trace_of(pending: Iterator[Pending]) -> Trace:
    """The trace of a whole run, whose records are made when it is over."""
    return with_figures(collect(made(list(pending))))


def in_lane(make: Pending, number: int) -> Iterator[Event]:
    """The events of a lane of a race."""
    for event in make():
        yield event.model_copy(update={"lane": number})
