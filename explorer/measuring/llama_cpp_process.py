"""llama.cpp in a separate process, with requests over its standard input and output.

Its Python package is in a separate environment (`make reference`), so that its dependencies cannot
conflict with this product's. Requests and answers: `measuring/llama_cpp_worker.py`.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from explorer.records.errors import ExplorerError
from explorer.weights.presets import ROOT

ENVIRONMENT = ROOT / ".venv-reference"
WORKER = Path(__file__).with_name("llama_cpp_worker.py")
PACKAGE = "xllamacpp"
START_SECONDS = 300.0  # to read the model
LEAVE_SECONDS = 5.0


def worker_command() -> list[str]:
    """The command that starts the worker. Raises ExplorerError if llama.cpp is not installed."""
    places = (ENVIRONMENT / "bin" / "python", ENVIRONMENT / "Scripts" / "python.exe")
    python = next((str(place) for place in places if place.is_file()), None)
    if python is None and importlib.util.find_spec(PACKAGE):
        python = sys.executable
    if python is None:
        raise ExplorerError(
            f"llama.cpp was not measured, because {PACKAGE} is not installed: run 'make reference'."
        )
    # -I: neither this folder's modules nor the user's settings reach the other environment.
    return [python, "-I", str(WORKER)]


class Worker:
    """The running process. Every failure of it is an ExplorerError, and ends it."""

    def __init__(self, command: Sequence[str]) -> None:
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                encoding="utf-8",
            )
        except OSError as error:
            raise ExplorerError(
                f"llama.cpp was not measured, because its process did not start ({error}): "
                "run 'make reference' again."
            ) from error
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        with contextlib.suppress(ValueError, OSError):  # closed while it was read
            for line in self._process.stdout or ():
                self._lines.put(line)
        self._lines.put(None)

    def ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Its answer to the request. Raises ExplorerError if none comes in time."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it has ended: the missing answer says so
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        try:
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            raise self._failed(f"its process did not answer within {seconds:.0f} seconds") from None
        if line is None:
            raise self._failed(f"its process {self._ending()}")
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise self._failed("its process wrote an invalid answer")
        if "error" in answer:
            raise self._failed(f"it said: {' '.join(str(answer['error']).split())[:200]}")
        return answer

    def _failed(self, why: str) -> ExplorerError:
        self.close()
        return ExplorerError(f"llama.cpp was not measured, because {why}.")

    def _ending(self) -> str:
        status = self._process.wait()
        if status >= 0:
            return f"ended with status {status}"
        return f"was ended by {signal.Signals(-status).name}"

    def close(self) -> None:
        """End the process, by force if it does not end by itself."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(LEAVE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
