"""A limit on the time that something takes as a whole, however often a byte of it comes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

Result = TypeVar("Result")


class LateError(Exception):
    """It was not there in time."""


class Deadline:
    """Begins to run when it is made."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def wait_for(self, work: Callable[[], Result]) -> Result:
        """What `work` returns or raises. Raises LateError if it has not ended in time.

        A socket's limit is on one silence, and a server may send a byte before each ends: so the
        work has a thread of its own, and one that is late ends with its connection.
        """
        done: Future[Result] = Future()
        threading.Thread(target=_fulfil, args=(done, work), daemon=True).start()
        try:
            return done.result(max(0.0, self._end - time.monotonic()))
        except TimeoutError as error:
            raise LateError from error


def _fulfil(done: Future, work: Callable) -> None:
    try:
        done.set_result(work())
    except BaseException as error:
        done.set_exception(error)
