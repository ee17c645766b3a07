"""What the page and the API share of a run: its settings, its place in the queue, its failure."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from explorer.records.errors import ExplorerError
from explorer.records.settings import DecodeSettings, decode_settings
from explorer.ui.limits import Limits
from explorer.ui.worker import ModelWorker, Ticket

if TYPE_CHECKING:
    from explorer.lab.lab import Lab


log = logging.getLogger(__name__)
POLL = 0.25  # seconds
RUNS = "runs"  # Gradio's name for all that waits for the model: its limit is one for all


def checked_settings(
    prompt: object, given: Mapping[str, object], limits: Limits, *, continues: bool = False
) -> DecodeSettings:
    """The settings of a run that is allowed. `continues`: it needs no prompt.

    Raises ExplorerError.
    """
    if not continues and not (isinstance(prompt, str) and prompt.strip()):
        raise ExplorerError("The prompt is empty: write something, or pick an example.")
    settings = decode_settings(**given)
    limits.check("" if continues else prompt, settings)
    return settings


def at_hand(settings: DecodeSettings, lab: Lab) -> DecodeSettings:
    """The default method gives way to the model's own; without heads that is plain."""
    if settings.method != DecodeSettings().method:
        return settings
    return settings.model_copy(update={"method": lab.method})


def until_turn(worker: ModelWorker, ticket: Ticket) -> Iterator[None]:
    """Yields now and then until the model is loaded and the ticket's turn has come, or it is
    cancelled. Raises ExplorerError if the model could not be loaded."""
    while not ticket.cancel.is_set():
        if worker.status.phase == "failed":
            raise ExplorerError(worker.status.text)
        if worker.lab is not None and worker.ahead(ticket) == 0:
            return
        yield
        time.sleep(POLL)


def sentence(error: Exception) -> str:
    """What a visitor is told of a failure. Call it where the error is handled."""
    if isinstance(error, ExplorerError):
        return str(error)
    log.exception("a run failed")  # a bug: the app goes on, and the log must say more
    return (
        f"The run failed unexpectedly ({type(error).__name__}): try another prompt or other "
        "settings; the app goes on."
    )
