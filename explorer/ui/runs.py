"""What the page and the API share: settings of a run, its place in the queue, its failure."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from explorer.records.errors import ExplorerError
from explorer.records.methods import METHODS, PLAIN
from explorer.records.settings import DecodeSettings, decode_settings
from explorer.ui.limits import Limits
from explorer.ui.worker import ModelWorker, Ticket

if TYPE_CHECKING:
    from explorer.lab.lab import Lab


Result = TypeVar("Result")
log = logging.getLogger(__name__)
POLL = 0.25  # seconds
RUNS = "runs"  # Gradio's name for calls that wait for the model: they share one limit


def checked_settings(
    prompt: Any, given: Mapping[str, object], limits: Limits, *, continues: bool = False
) -> DecodeSettings:
    """The settings of a run within the limits. `continues`: it needs no prompt.

    Raises ExplorerError.
    """
    if not continues and not (isinstance(prompt, str) and prompt.strip()):
        raise ExplorerError("The prompt is empty: write something, or pick an example.")
    settings = decode_settings(**given)
    limits.check("" if continues else prompt, settings)
    return settings


def checked_rival(against: object, method: object) -> str:
    """The other lane's method. Raises ExplorerError for one that is unknown or the run's own."""
    if not isinstance(against, str) or against not in METHODS:
        raise ExplorerError(f"There is no method '{against!s:.40}' to race against.")
    if against == method and method != PLAIN:
        raise ExplorerError(f"{method} would race against itself: choose another rival.")
    return against


def at_hand(settings: DecodeSettings, lab: Lab) -> DecodeSettings:
    """Replace the default method by the model's own; without heads that is plain."""
    if settings.method != DecodeSettings().method:
        return settings
    return settings.model_copy(update={"method": lab.method})


def until_turn(worker: ModelWorker, ticket: Ticket) -> Iterator[None]:
    """Yields at intervals until the model is loaded and it is the ticket's turn, or it is
    cancelled. Raises ExplorerError if the model could not be loaded."""
    while not ticket.cancel.is_set():
        if worker.status.phase == "failed":
            raise ExplorerError(worker.status.text)
        if worker.lab is not None and worker.ahead(ticket) == 0:
            return
        yield
        time.sleep(POLL)


def in_turn(worker: ModelWorker, work: Callable[[Lab, Ticket], Result]) -> Result:
    """Wait for the model, do some work with it, and give it back. Raises whatever the work raises,
    and ExplorerError if the model could not be loaded."""
    ticket = worker.enter()
    try:
        for _ in until_turn(worker, ticket):
            pass
        return worker.between_turns(lambda lab: work(lab, ticket))
    finally:
        worker.leave(ticket)


def sentence(error: Exception) -> str:
    """The sentence for a visitor about a failure. Call it where the error is handled."""
    if isinstance(error, ExplorerError):
        return str(error)
    log.exception("a run failed")  # a bug: the app keeps running, and the log must say more
    return (
        f"The run failed unexpectedly ({type(error).__name__}): try another prompt or other "
        "settings. The app keeps running."
    )
