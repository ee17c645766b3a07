"""Medusa-1: train the heads on a frozen base model (Medusa paper, section 2.2.1).

    loss = sum over heads k of decay^k · cross-entropy(head k at position t, token t+1+k)

with decay 0.8. The targets may be mixed with the base model's own distribution at the position
before the token, which tells the heads which other tokens would nearly have come.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from explorer.errors import ExplorerError
from explorer.models.checkpoints import load_heads
from explorer.models.heads import HeadsConfig, MedusaHeads
from explorer.training.data import (
    Conversation,
    coverage_of,
    drop_loops,
    pick_draft_vocabulary,
    read_conversations,
    split_holdout,
)
from explorer.training.evaluate import head_accuracy
from explorer.training.hidden_cache import HiddenCache, hidden_cache
from explorer.training.loss import sparse_cross_entropy
from explorer.training.options import TrainOptions, TrainResult
from explorer.training.targets import Targets, build_targets

Progress = Callable[[dict[str, Any]], None]


def train_heads(
    model: Any, options: TrainOptions, progress: Progress = lambda _: None
) -> TrainResult:
    """Train, measure and save Medusa heads for `model`.

    progress is called with dicts that hold "phase" ("hidden states", "training", "epoch") and its
    figures. After every epoch the heads are in `options.out`, so that a run that dies later keeps
    them. Raises ExplorerError for data that does not fit the model and for a loss that is no
    number.
    """
    began = time.perf_counter()
    if options.kind == "shared" and options.num_blocks == 0:
        raise ExplorerError(
            "Heads that share the LM head and have no residual block hold nothing to train: "
            "choose at least one block or another kind."
        )
    vocab_size = model.lm_head_weight().shape[0]
    conversations, train, held = split_data(options, vocab_size)
    heads, coverage, past = _starting_heads(model, options, [conversations[i] for i in train])
    cache = hidden_cache(model, conversations, options.cache_folder, progress)
    train_rows, held_rows = cache.rows_of(train), cache.rows_of(held)
    facts = {
        "method": "Medusa-1",
        "backend": model.backend,
        "data": options.data.name,
        "conversations": len(train),
        "holdout_conversations": len(held),
        "train_tokens": len(train_rows),
        "holdout_tokens": len(held_rows),
        "coverage": round(coverage, 4),
        **_recipe(options),
        **past,
    }
    run = _Run(options, heads, cache, build_targets(model, heads, cache, options.soft_share))
    accuracy = run.fit(train_rows, held_rows, facts, progress)
    seconds = round(time.perf_counter() - began, 1)
    return TrainResult(
        out=options.out,
        accuracy=accuracy,
        coverage=coverage,
        train_tokens=len(train_rows),
        holdout_tokens=len(held_rows),
        seconds=seconds,
        history=run.history,
    )


def split_data(
    options: TrainOptions, vocab_size: int
) -> tuple[list[Conversation], list[int], list[int]]:
    """The usable conversations of the data, and the indices of those trained on and held out.

    The same options give the same split. Raises ExplorerError for unusable data.
    """
    conversations = _usable(read_conversations(options.data, vocab_size), options)
    return conversations, *split_holdout(conversations, options.holdout, options.seed)


def _recipe(options: TrainOptions) -> dict[str, Any]:
    """The settings that shape the result, without the paths of one machine."""
    elsewhere = {"data", "out", "start_from", "cache_folder", "kind", "num_heads", "num_blocks"}
    return options.model_dump(mode="json", exclude=elsewhere | {"draft_vocab_size"})


def _usable(conversations: list[Conversation], options: TrainOptions) -> list[Conversation]:
    cut = [c.truncated(options.max_tokens) for c in conversations]
    # A head needs at least the token after the one that the LM head predicts.
    kept = drop_loops([c for c in cut if len(c.response) >= 2], options.least_distinct)
    if not kept:
        raise ExplorerError(
            f"No conversation of {options.data} is usable: all replies loop or lie beyond "
            f"{options.max_tokens} tokens, so give longer limits or other data."
        )
    return kept


def _starting_heads(
    model: Any, options: TrainOptions, conversations: list[Conversation]
) -> tuple[MedusaHeads, float, dict[str, Any]]:
    """Heads in float32 on the model's device, the vocabulary's coverage, and their past."""
    weight = model.lm_head_weight()
    vocab_size, hidden_size = weight.shape
    if options.start_from is not None:
        return _earlier_heads(weight, model.device, options, conversations)
    token_map, coverage, size = None, 1.0, None
    if options.kind == "draft_vocab":
        size = min(options.draft_vocab_size, vocab_size)
        token_map, coverage = pick_draft_vocabulary(conversations, size, vocab_size)
    config = HeadsConfig(
        kind=options.kind,
        num_heads=options.num_heads,
        num_blocks=options.num_blocks,
        hidden_size=hidden_size,
        vocab_size=vocab_size,
        draft_vocab_size=size,
        base_model=model.name,
    )
    return MedusaHeads.create(config, weight, token_map).to(model.device), coverage, {}


def _earlier_heads(
    weight: Tensor, device: torch.device, options: TrainOptions, conversations: list[Conversation]
) -> tuple[MedusaHeads, float, dict[str, Any]]:
    vocab_size, hidden_size = weight.shape
    heads = load_heads(
        options.start_from,
        device=device,
        dtype=torch.float32,
        lm_head_weight=weight,
        hidden_size=hidden_size,
        vocab_size=vocab_size,
    )
    past = heads.config.training
    for name in ("seed", "holdout", "max_tokens", "least_distinct"):
        if name in past and past[name] != getattr(options, name):
            raise ExplorerError(
                f"The heads in {options.start_from} were trained with {name} {past[name]}, so "
                "text held out now may be text they have seen: use the same value."
            )
    for parameter in heads.parameters():
        parameter.requires_grad_()
    known = None if heads.token_map is None else heads.token_map.tolist()
    coverage = 1.0 if known is None else coverage_of(known, conversations)
    return heads, coverage, {"started_from": past}


class _Run:
    """One pass of the optimiser over the data, several epochs long."""

    def __init__(
        self, options: TrainOptions, heads: MedusaHeads, cache: HiddenCache, targets: Targets
    ) -> None:
        self.options, self.heads, self.cache, self.targets = options, heads, cache, targets
        self.device = heads.block_weight.device
        self.history: list[dict[str, Any]] = []
        self.decay = torch.tensor(
            [options.head_decay**k for k in range(1, heads.config.num_heads + 1)],
            device=self.device,
        )

    def fit(
        self, train_rows: Tensor, held_rows: Tensor, facts: dict[str, Any], progress: Progress
    ) -> dict[str, list[float]]:
        options = self.options
        batches = math.ceil(len(train_rows) / options.batch_size)
        optimizer = torch.optim.AdamW(
            [p for p in self.heads.parameters() if p.numel()],
            lr=options.lr,
            weight_decay=options.weight_decay,
            fused=True,
        )
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, warmup_cosine(options.epochs * batches, options.warmup)
        )
        with torch.random.fork_rng(devices=[] if self.device.type == "cpu" else [self.device]):
            torch.manual_seed(options.seed)
            for epoch in range(1, options.epochs + 1):
                order = train_rows[torch.randperm(len(train_rows))]
                loss = self._epoch(epoch, order, optimizer, schedule, progress)
                accuracy = self._save(held_rows, {**facts, "epochs_done": epoch}, loss)
                progress({"phase": "epoch", **self.history[-1], "epochs": options.epochs})
        return accuracy

    def _epoch(
        self, epoch: int, order: Tensor, optimizer: Any, schedule: Any, progress: Progress
    ) -> float:
        batches = order.split(self.options.batch_size)
        began, total, since = time.perf_counter(), torch.zeros(()), 0
        for number, rows in enumerate(batches, start=1):
            loss = self._loss(rows)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(
                self.heads.parameters(), self.options.max_grad_norm
            )
            self._check_finite(loss, norm, epoch, number)
            optimizer.step()
            schedule.step()
            total, since = total + loss.detach().cpu(), since + 1
            if number % 20 == 0 or number == len(batches):
                progress(
                    {
                        "phase": "training",
                        "epoch": epoch,
                        "epochs": self.options.epochs,
                        "done": number,
                        "total": len(batches),
                        "loss": round((total / since).item(), 4),
                        "seconds": round(time.perf_counter() - began, 1),
                    }
                )
        return (total / since).item()

    def _loss(self, rows: Tensor) -> Tensor:
        """Cross-entropy of one batch, summed over the heads with their weights."""
        hidden = self.cache.hidden[rows].to(self.device).float()
        ids, weights = (x.to(self.device) for x in self.targets.of(rows, len(self.decay)))
        # Mean over each head's targets, then the heads' weights.
        mass = weights.sum((-1, -2), keepdim=True).clamp(min=1e-6)
        weights = weights / mass * self.decay[:, None, None]
        dropout, projection = torch.nn.functional.dropout, self.heads.projection
        with torch.autocast(self.device.type, torch.bfloat16):
            features = self.heads.features(dropout(hidden, self.options.dropout))
        features = dropout(features, self.options.dropout)
        if self.heads.config.kind == "own":
            parts = zip(features, projection, ids, weights, strict=True)
            return sum(sparse_cross_entropy(*part) for part in parts)
        return sparse_cross_entropy(
            features.flatten(0, 1), projection, ids.flatten(0, 1), weights.flatten(0, 1)
        )

    def _check_finite(self, loss: Tensor, norm: Tensor, epoch: int, number: int) -> None:
        if torch.isfinite(loss) and torch.isfinite(norm):
            return
        kept = f"the heads of epoch {epoch - 1} are kept in {self.options.out}"
        raise ExplorerError(
            f"The loss is no longer a number (epoch {epoch}, batch {number}): train again with a "
            f"lower learning rate than {self.options.lr:g}; "
            + (kept if epoch > 1 else "nothing was saved yet")
            + "."
        )

    def _save(
        self, held_rows: Tensor, facts: dict[str, Any], loss: float
    ) -> dict[str, list[float]]:
        """Store the heads as they are now, measured as they are stored."""
        stored = MedusaHeads(self.heads.config.model_copy()).to(self.device)
        if self.heads.config.kind == "shared":
            stored.use_lm_head(self.heads.projection)
        stored.load_state_dict(self.heads.state_dict())
        stored = stored.to(getattr(torch, self.options.storage_dtype)).eval()
        accuracy = head_accuracy(stored, self.cache, held_rows)
        self.history.append(
            {"epoch": facts["epochs_done"], "loss": round(loss, 4), "accuracy": accuracy}
        )
        stored.config.accuracy = {"text": "held-out self-distilled replies", **accuracy}
        stored.config.training = {**facts, "history": self.history}
        stored.save(self.options.out)
        return accuracy


def warmup_cosine(updates: int, warmup: float) -> Callable[[int], float]:
    """Learning-rate factor of each update: a linear rise, then half a cosine down to zero."""
    rise = max(1, round(updates * warmup))

    def factor(update: int) -> float:
        if update < rise:
            return (update + 1) / rise
        return 0.5 * (1 + math.cos(math.pi * (update - rise) / max(1, updates - rise)))

    return factor
