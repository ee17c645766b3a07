"""Finished conversations, in a file beside the result until all are there."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path
from typing import Any

from explorer.records.errors import ExplorerError

FLUSH_EVERY = 20.0  # seconds


class Journal:
    """The conversations written for `out` so far, from which a killed run resumes.

    `done` holds the record of every finished conversation by its number: one with a "response" is
    kept, any other says why it was dropped. Raises ExplorerError for a journal that was begun
    differently, and for a place that cannot be written.
    """

    def __init__(self, out: Path, made_by: dict[str, Any]) -> None:
        self.out = out
        self.path = out.with_name(out.name + ".part")
        self.header = {"made_by": made_by}
        self.done: dict[int, dict] = {}
        self.prompts: set[tuple[int, ...]] = set()
        self._flushed = 0.0
        self._read()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = open(self.path, "a", encoding="utf-8")  # noqa: SIM115 - closed in close()
        except OSError as error:
            raise self._unwritable(error) from error
        if self._file.tell() == 0:
            self._write(self.header)

    def is_new(self, prompt: list[int]) -> bool:
        """Whether no conversation has this prompt yet; it counts as taken from now on."""
        known = tuple(prompt) in self.prompts
        self.prompts.add(tuple(prompt))
        return not known

    def add(self, number: int, record: dict) -> None:
        """Note how conversation `number` ended. Raises ExplorerError for a full disk."""
        self.done[number] = record
        self._write({"id": number, **record})

    def close(self) -> list[dict]:
        """Put what was kept into `out`, in order, and remove the journal; returns the records.

        Raises ExplorerError if nothing was kept, and for a full disk.
        """
        kept = [{"id": i, **self.done[i]} for i in sorted(self.done) if "response" in self.done[i]]
        if not kept:
            raise ExplorerError(
                "There was no usable reply (all were empty or loops): give other prompts."
            )
        lines = [json.dumps(record, separators=(",", ":")) for record in [self.header, *kept]]
        try:
            self._file.close()
            part = self.out.with_name(self.out.name + ".new")
            part.write_bytes(gzip.compress("\n".join([*lines, ""]).encode(), mtime=0))
            part.replace(self.out)
            self.path.unlink()
        except OSError as error:
            raise self._unwritable(error) from error
        return kept

    def _read(self) -> None:
        """Take over what an earlier run has finished; a line that was cut off does not count."""
        if not self.path.exists():
            return
        whole = [x for x in self.path.read_text("utf-8").splitlines(True) if x.endswith("\n")]
        if not whole:
            self.path.unlink()
            return
        header, *records = map(json.loads, whole)
        if header != self.header:
            raise ExplorerError(
                f"{self.path} was begun by another model or with other settings: give the same "
                "ones to resume, or delete it to start again."
            )
        self.path.write_text("".join(whole), "utf-8")
        for record in records:
            number = record.pop("id")
            self.done[number] = record
            if "prompt" in record:
                self.prompts.add(tuple(record["prompt"]))

    def _write(self, record: dict) -> None:
        try:
            self._file.write(json.dumps(record, separators=(",", ":")) + "\n")
            if time.monotonic() - self._flushed > FLUSH_EVERY:
                self._file.flush()
                self._flushed = time.monotonic()
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> ExplorerError:
        return ExplorerError(
            f"{self.out} cannot be written ({error.strerror or error}): free some disk space or "
            "choose another place; the conversations finished before are kept."
        )
