"""Runs the loaded model with a planted fault for Learn, in its turn among the other runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from explorer.records.errors import ExplorerError
from explorer.records.faults import FAULTS, FaultReport
from explorer.ui.runs import in_turn, sentence
from explorer.ui.worker import ModelWorker

if TYPE_CHECKING:
    from explorer.lab.lab import Lab

BUSY = "Somebody else has the model run with a fault: try again in a moment."


def _run(lab: Lab, fault: str, cancel: threading.Event) -> FaultReport:
    from explorer.measuring.planted_faults import run_with_fault

    return run_with_fault(lab, fault, cancel)


class FaultDesk:
    """Answers a browser's questions. What a fault does is always the same, so it is run once.

    `run` is explorer.measuring.planted_faults, but for tests.
    """

    def __init__(
        self,
        worker: ModelWorker,
        run: Callable[[Lab, str, threading.Event], FaultReport] = _run,
    ) -> None:
        self._worker, self._run = worker, run
        self._reports: dict[str, FaultReport] = {}
        self._one = threading.Lock()

    def answer(self, fault: str) -> tuple[int, str]:
        """HTTP status, and a report as JSON or a sentence. Waits for the model."""
        if fault not in FAULTS:
            return 404, f"There is no such fault: choose one of {', '.join(FAULTS)}."
        if self._worker.lab is None:
            return 503, self._worker.status.text
        if not self._one.acquire(blocking=False):
            return 503, BUSY
        try:
            if fault not in self._reports:
                self._reports[fault] = in_turn(
                    self._worker, lambda lab, ticket: self._run(lab, fault, ticket.cancel)
                )
            return 200, self._reports[fault].model_dump_json()
        except Exception as error:
            return (400 if isinstance(error, ExplorerError) else 500), sentence(error)
        finally:
            self._one.release()
