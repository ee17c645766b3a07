"""The loop of all training: epochs, updates, and resuming after a kill.

All random numbers come from the seed and the number of the epoch or update, so a run that resumes
from its checkpoint ends exactly as a run without a break.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import pickle
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import torch
from pydantic import BaseModel as Schema
from pydantic import Field
from torch import Tensor

from explorer.models.base import LanguageModel
from explorer.records.errors import ExplorerError
from explorer.records.progress import TrainingProgress
from explorer.training.data import Conversation, fingerprint
from explorer.training.distil import epoch_batches
from explorer.training.log import TrainingLog

CHECKPOINT = "unfinished.pt"


class FitOptions(Schema):
    """The text, and how long and how gently to train on it."""

    data: Path
    out: Path
    epochs: int = Field(default=2, ge=1)
    updates: int = Field(
        default=0, ge=0, description="stop after this many updates (0: run all epochs)"
    )
    batch_size: int = Field(default=8, ge=1, description="conversations in an update")
    weight_decay: float = Field(default=0.01, ge=0)
    warmup: float = Field(default=0.1, ge=0, lt=1, description="share of all updates")
    max_grad_norm: float = Field(default=1.0, gt=0)
    holdout: float = Field(default=0.05, gt=0, lt=1)
    least_distinct: float = Field(default=0.5, ge=0, le=1)
    max_tokens: int = Field(
        default=1024, ge=2, description="longer conversations are cut to this many tokens"
    )
    seed: int = 0
    patience: int = Field(
        default=0, ge=0, description="stop after this many epochs without a better score (0: never)"
    )
    save_every: int = Field(default=50, ge=1, description="updates between two checkpoints")
    cache_folder: Path = Path("cache")

    def key(self, model: LanguageModel, conversations: Sequence[Conversation]) -> str:
        """A name for all settings that affect the result; learning rates may be lowered."""
        elsewhere = {"data", "out", "cache_folder", "save_every"}
        elsewhere |= set() if self.updates else {"updates"}
        values = self.model_dump(mode="json", exclude=elsewhere)
        shaping = {k: v for k, v in values.items() if k != "lr" and not k.endswith("_lr")}
        parts = [shaping, model.name, model.backend, fingerprint(conversations)]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def recipe(self) -> dict[str, Any]:
        """The settings that a checkpoint records, without the paths of one machine."""
        paths = {"out", "cache_folder", "save_every", "start_from"}
        return {**self.model_dump(mode="json", exclude=paths), "data": self.data.name}


class Task(Protocol):
    """What is trained."""

    def groups(self) -> list[dict[str, Any]]:
        """AdamW's parameter groups, each with its own learning rate."""
        ...

    def loss(self, batch: list[int], done: float) -> tuple[Tensor, dict[str, float]]:
        """Loss of the given conversations, and its parts for the log; `done` is 0…1 of the run."""
        ...

    def trained(self) -> dict[str, Tensor]:
        """The trained tensors by name, as they are now."""
        ...

    def save(self, epoch: int, history: list[dict[str, Any]]) -> dict[str, Any]:
        """Measure and store the result of an epoch; returns its figures.

        `history` ends with the epoch's losses. The figure "score" is what `patience` looks at.
        """


def fit(
    task: Task,
    options: FitOptions,
    lengths: Sequence[int],
    key: str,
    progress: TrainingProgress,
) -> list[dict[str, Any]]:
    """Train on conversations of the given lengths; returns the history, a record an epoch.

    `key` names everything that shapes the result: a checkpoint in `options.out` with the same key
    is resumed. The log is kept there, too (training/log.py). Raises ExplorerError for a loss
    that is no number, a checkpoint of another run, and a full disk; what was saved before stays.
    """
    optimizer = torch.optim.AdamW(task.groups(), weight_decay=options.weight_decay, fused=True)
    rates = [group["lr"] for group in optimizer.param_groups]
    checkpoint = _Checkpoint(options.out / CHECKPOINT, key, task, optimizer)
    done, history, sums = checkpoint.read()
    per_epoch = math.ceil(len(lengths) / options.batch_size)
    total = options.epochs * per_epoch
    total = min(total, options.updates or total)
    factor = warmup_cosine(total, options.warmup)
    log = TrainingLog(options.out, done, total)
    if done:
        progress({"phase": "resumed", "update": done, "updates": total})
    while done < total:
        epoch, began = 1 + done // per_epoch, done - done % per_epoch
        batches = epoch_batches(lengths, options.batch_size, options.seed, epoch)[: total - began]
        epoch_log = _EpochLog(epoch, options.epochs, len(batches), sums, progress)
        for batch in batches[done - began :]:
            for group, rate in zip(optimizer.param_groups, rates, strict=True):
                group["lr"] = rate * factor(done)
            parts = _update(task, optimizer, options, batch, done, total)
            done += 1
            epoch_log.add(parts, done - began)
            log.add(done, epoch, parts)
            if done % options.save_every == 0 and done - began < len(batches):
                checkpoint.write(done, history, epoch_log.sums)
        history.append({"epoch": epoch, **epoch_log.means(len(batches))})
        history[-1].update(task.save(epoch, history))
        log.add_epoch(done, history[-1])
        sums = {}
        checkpoint.write(done, history, sums)
        progress({"phase": "epoch", "epochs": options.epochs, **history[-1]})
        if is_stale(history, options.patience):
            break
    checkpoint.path.unlink(missing_ok=True)
    return history


def is_stale(history: Sequence[dict[str, Any]], patience: int) -> bool:
    """Whether the best score is `patience` epochs old."""
    scores = [record.get("score", 0.0) for record in history]
    return patience > 0 and len(scores) - 1 - scores.index(max(scores)) >= patience


def warmup_cosine(updates: int, warmup: float) -> Callable[[int], float]:
    """Learning-rate factor of each update: a linear rise, then half a cosine down to zero."""
    rise = max(1, round(updates * warmup))

    def factor(update: int) -> float:
        if update < rise:
            return (update + 1) / rise
        return 0.5 * (1 + math.cos(math.pi * (update - rise) / max(1, updates - rise)))

    return factor


def _update(
    task: Task, optimizer: Any, options: FitOptions, batch: list[int], done: int, total: int
) -> dict[str, float]:
    """One update of the parameters; returns the loss and its parts."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    with torch.random.fork_rng():
        torch.manual_seed(options.seed * 1_000_003 + done)  # dropout
        loss, parts = task.loss(batch, done / total)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(parameters, options.max_grad_norm)
    if not (torch.isfinite(loss) and torch.isfinite(norm)):
        raise ExplorerError(
            f"The loss is no longer a number (update {done + 1} of {total}): train again with a "
            "lower learning rate; it resumes from the last checkpoint, and what was saved before "
            "is kept."
        )
    optimizer.step()
    return {"loss": loss.item(), **parts}


class _EpochLog:
    """Sums over the updates of one epoch, whose means `progress` gets."""

    def __init__(
        self,
        epoch: int,
        epochs: int,
        updates: int,
        sums: dict[str, float],
        progress: TrainingProgress,
    ) -> None:
        self.head = {"phase": "training", "epoch": epoch, "epochs": epochs, "total": updates}
        self.sums, self.progress, self.began = sums, progress, time.perf_counter()

    def add(self, parts: dict[str, float], number: int) -> None:
        """The loss and its parts of update `number` (from 1) of the epoch."""
        for name, value in parts.items():
            self.sums[name] = self.sums.get(name, 0.0) + value
        seconds = round(time.perf_counter() - self.began, 1)
        self.progress({**self.head, "done": number, **self.means(number), "seconds": seconds})

    def means(self, updates: int) -> dict[str, float]:
        """Means over the epoch's first `updates` updates."""
        return {name: round(value / updates, 4) for name, value in self.sums.items()}


class _Checkpoint:
    """The state for resuming: one file, replaced as a whole."""

    def __init__(self, path: Path, key: str, task: Task, optimizer: Any) -> None:
        self.path, self.key, self.task, self.optimizer = path, key, task, optimizer

    def write(self, done: int, history: list[dict[str, Any]], sums: dict[str, float]) -> None:
        """Keep the state after `done` updates. Raises ExplorerError for a full disk."""
        state = {
            "key": self.key,
            "done": done,
            "trained": self.task.trained(),
            "optimizer": self.optimizer.state_dict(),
            "history": history,
            "sums": sums,
        }
        part = self.path.with_name(f"{self.path.name}.part")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            torch.save(state, part)
            os.replace(part, self.path)
        except (OSError, RuntimeError) as error:  # torch's writer raises RuntimeError
            raise ExplorerError(
                f"The training's checkpoint cannot be written to {self.path.parent} "
                f"({error!s:.120}): free some disk space and run the same command again; what was "
                "saved before is kept."
            ) from error

    def read(self) -> tuple[int, list[dict[str, Any]], dict[str, float]]:
        """Updates done, history and sums of an unfinished run, whose state is restored."""
        if not self.path.exists():
            return 0, [], {}
        try:
            state = torch.load(self.path, map_location="cpu", weights_only=True)
            if state["key"] != self.key:
                raise ExplorerError(
                    f"{self.path.parent} holds an unfinished run with other settings or other "
                    "data: give the same ones to finish it, choose another folder, or delete "
                    f"{self.path.name} there."
                )
            with torch.no_grad():
                for name, tensor in self.task.trained().items():
                    tensor.copy_(state["trained"][name])
            self.optimizer.load_state_dict(state["optimizer"])
            return state["done"], state["history"], state["sums"]
        except (
            OSError, RuntimeError, KeyError, TypeError, ValueError, EOFError,
            pickle.UnpicklingError,
        ) as error:  # fmt: skip
            raise ExplorerError(
                f"{self.path} cannot be read ({type(error).__name__}): delete it to train from "
                "the start."
            ) from error
