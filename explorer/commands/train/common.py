"""Shared by the training commands: options from settings, a table, a progress bar."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pydantic import BaseModel as Schema
from pydantic import ValidationError
from tqdm import tqdm

from explorer.commands.console import Console, table
from explorer.records.errors import ExplorerError

FIGURES = {"loss": "loss", "tokens/s": "tokens_per_second", "s left": "seconds_left"}
PREFIX = "train_"  # distinguishes a setting from a model option of the same name


def add_settings(parser: argparse.ArgumentParser, settings: type[Schema]) -> None:
    """One option for each setting of a training run."""
    group = parser.add_argument_group("training")
    for name, field in settings.model_fields.items():
        about = field.description or name.replace("_", " ")
        default = "" if field.is_required() or field.default is None else f" ({field.default})"
        path = Path in (field.annotation, *getattr(field.annotation, "__args__", ()))
        value = {"metavar": "PATH" if path else "VALUE"}
        if field.annotation is bool:
            value, default = {"action": "store_const", "const": True}, ""
        group.add_argument(
            f"--{name.replace('_', '-')}",
            dest=PREFIX + name,
            required=field.is_required(),
            help=f"{about}{default}".replace("%", "%%"),
            **value,
        )


def settings_from(args: argparse.Namespace, settings: type[Schema]) -> Any:
    """The settings given on the command line, over their defaults. Raises ExplorerError."""
    given = {name: getattr(args, PREFIX + name) for name in settings.model_fields}
    try:
        return settings(**{k: v for k, v in given.items() if v is not None})
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]).replace("_", "-")
        raise ExplorerError(
            f"--{name}: {first['msg']}; you gave '{first['input']!s:.60}'."
        ) from error


def require_data(path: Path) -> None:
    """Refuse a missing data file before the model is loaded. Raises ExplorerError."""
    if not path.is_file():
        raise ExplorerError(f"There is no training data at {path}: check the path.")


def accuracy_table(accuracy: dict[str, Any]) -> str:
    """Accuracies of each head on held-out text."""
    lists = {name: values for name, values in accuracy.items() if isinstance(values, list)}
    heads = range(1, max(map(len, lists.values()), default=0) + 1)
    rows = [(name, *(f"{value:.3f}" for value in values)) for name, values in lists.items()]
    return table(("held-out", *(f"head {k}" for k in heads)), rows)


class Progress:
    """One bar for each phase, and a line after every epoch."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.phase: tuple[str, int | None] | None = None
        self.bar: tqdm | None = None

    def __call__(self, event: dict[str, Any]) -> None:
        """Show an event of a training run (training/fitting.py)."""
        if event["phase"] == "epoch":
            self.console.say(_epoch_line(event))
            return
        if event["phase"] == "resumed":
            self.console.say(f"resuming after update {event['update']} of {event['updates']}")
            return
        bar = self._bar((event["phase"], event.get("epoch")), event.get("total"))
        bar.update(event.get("done", 0) - bar.n)
        said = {name: event[key] for name, key in FIGURES.items() if event.get(key) is not None}
        bar.set_postfix(said)

    def _bar(self, phase: tuple[str, int | None], total: int | None) -> tqdm:
        if self.bar is None or phase != self.phase:
            self.close()
            self.phase, self.bar = phase, self.console.bar(total, "")
            self.bar.set_description(" ".join(str(part) for part in phase if part is not None))
        return self.bar

    def close(self) -> None:
        """End the bar of the present phase."""
        if self.bar is not None:
            self.bar.close()
            self.bar = None


def _epoch_line(event: dict[str, Any]) -> str:
    """Losses and held-out figures of an epoch, on one line."""
    head = f"epoch {event['epoch']}/{event['epochs']}"
    said = {"phase", "epoch", "epochs", "accuracy", "score"}
    parts = [
        f"{name.replace('_', ' ')} {value:.4f}" for name, value in event.items() if name not in said
    ]
    top1 = event.get("accuracy", {}).get("top1")
    if top1:
        parts.append("held-out top-1 " + " ".join(f"{value:.3f}" for value in top1))
    return f"{head}: {', '.join(parts)}"
