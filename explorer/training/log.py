"""The log of a training run, beside its result: losses by update, held-out figures by epoch.

One JSON object a line. `{"update": 40, "epoch": 1, "loss": 7.9, …}` holds means over the updates
since the line before; where there is "epoch_done", the held-out figures of that epoch stand in it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from explorer.records.errors import ExplorerError

LOG = "training.jsonl"
LINES = 200  # of losses in a whole run, about
MAX_UPDATES = 2**53


class TrainingLog:
    """Writes the log of a run of `total` updates, of which `done` were made before.

    Lines of an earlier start after `done` are dropped: those updates are made again.
    Raises ExplorerError where it cannot be written.
    """

    def __init__(self, folder: Path, done: int, total: int) -> None:
        self.path, self.every = folder / LOG, max(1, total // LINES)
        self.sums: dict[str, float] = {}
        self.since = done
        kept = read_log(self.path) if done and self.path.exists() else []
        self._write([line for line in kept if line["update"] <= done], "w")

    def add(self, update: int, epoch: int, parts: dict[str, float]) -> None:
        """The loss and its parts of an update, counted from 1."""
        for name, value in parts.items():
            self.sums[name] = self.sums.get(name, 0.0) + value
        if update - self.since >= self.every:
            means = {n: round(v / (update - self.since), 4) for n, v in self.sums.items()}
            self._write([{"update": update, "epoch": epoch, **means}], "a")
            self.sums, self.since = {}, update

    def add_epoch(self, update: int, record: dict[str, Any]) -> None:
        """What was measured after an epoch that ended with `update`."""
        figures = {name: value for name, value in record.items() if name != "epoch"}
        line = {"update": update, "epoch": record["epoch"], "epoch_done": True, **figures}
        self._write([line], "a")

    def _write(self, lines: Sequence[dict[str, Any]], mode: str) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with open(self.path, mode, encoding="utf-8") as file:
                file.writelines(json.dumps(line) + "\n" for line in lines)
        except OSError as error:
            raise ExplorerError(
                f"The training log {self.path} cannot be written ({error.strerror or error}): free "
                "some disk space and run the same command again."
            ) from error


def read_log(path: str | Path) -> list[dict[str, Any]]:
    """The whole lines of a log, without one that a kill cut short. Raises ExplorerError."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise ExplorerError(
            f"There is no training log at {path}: name the {LOG} beside trained heads."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ExplorerError(f"{path} cannot be read as a training log ({error!s:.80}).") from error
    found = [parsed for line in lines if (parsed := _parsed(line)) is not None]
    if lines and not found:
        raise ExplorerError(f"{path} is not a training log: name the {LOG} beside trained heads.")
    return found


def _parsed(line: str) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and _is_line(value) else None


def _is_line(value: dict[str, Any]) -> bool:
    """Whether a line has what is drawn of it, as numbers. A loss may be NaN."""
    update, accuracy = value.get("update"), value.get("accuracy") or {}
    top1 = accuracy.get("top1") or [] if isinstance(accuracy, dict) else None
    return (
        type(update) is int
        and 0 <= update < MAX_UPDATES
        and _is_number(value.get("loss"))
        and isinstance(top1, list)
        and all(map(_is_number, top1))
    )


def _is_number(value: object) -> bool:
    return type(value) in (int, float)
