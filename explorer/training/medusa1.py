"""Medusa-1: train the heads on a frozen base model (Medusa paper, section 2.2.1).

    loss = sum over heads k of decay^k · cross-entropy(head k at position t, token t+1+k)

with decay 0.8. The targets may be mixed with the base model's own distribution at the position
before the token, which shows the heads which other tokens were nearly as likely. Hydra heads are
trained in the same way, each with the right tokens before its target.
"""

from __future__ import annotations

import time
from typing import Any

import torch
from torch import Tensor

from explorer.heads.checkpoints import load_heads, save_heads
from explorer.heads.heads import MedusaHeads
from explorer.heads.heads_config import HeadsConfig
from explorer.heads.hydra import ARCHITECTURES, HydraHeads, copy_heads, new_heads
from explorer.models.base import LanguageModel
from explorer.records.errors import ExplorerError
from explorer.records.progress import TrainingProgress
from explorer.training.data import (
    Conversation,
    coverage_of,
    drop_loops,
    pick_draft_vocabulary,
    read_conversations,
    split_holdout,
    vocabulary_size,
)
from explorer.training.evaluate import head_accuracy
from explorer.training.fitting import fit
from explorer.training.heads_step import (
    as_stored,
    head_losses,
    heads_loss,
    named_losses,
    require_same_split,
)
from explorer.training.held_out_ranks import save_held_out_ranks
from explorer.training.hidden_cache import hidden_cache
from explorer.training.options import TrainOptions, TrainResult
from explorer.training.targets import Targets, build_targets


def train_heads(
    model: LanguageModel, options: TrainOptions, progress: TrainingProgress = lambda _: None
) -> TrainResult:
    """Train, measure and save Medusa or Hydra heads for `model`.

    progress is called with dicts that hold "phase" ("hidden states", "training", "epoch") and its
    figures. The best heads so far are in `options.out`, with a rank
    table beside them at the end, and a run that was killed resumes where it
    stopped when it is started again. Raises ExplorerError for data that does not fit the model and
    for a loss that is no number.
    """
    began = time.perf_counter()
    _require_sense(options)
    conversations, train, held = split_data(options, model.vocab_size)
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
    targets = build_targets(model, heads, cache, options.soft_share)
    task = _HeadsTask(options, heads, targets, train_rows, held_rows, facts)
    key = options.key(model, conversations)
    history = fit(task, options, [1] * len(train_rows), key, progress)
    save_held_out_ranks(model, options.out, cache, held, conversations)
    return TrainResult(
        out=options.out,
        accuracy=max(history, key=lambda epoch: epoch["score"])["accuracy"],
        coverage=coverage,
        train_tokens=len(train_rows),
        holdout_tokens=len(held_rows),
        seconds=round(time.perf_counter() - began, 1),
        history=history,
    )


def _require_sense(options: TrainOptions) -> None:
    """Refuse settings without an effect. Raises ExplorerError."""
    if options.kind == "shared" and options.num_blocks == 0:
        raise ExplorerError(
            "Heads that share the LM head and have no residual block hold nothing to train: "
            "choose at least one block or another kind."
        )
    if options.new_vocabulary and (options.start_from is None or options.projection_from):
        raise ExplorerError(
            "--new-vocabulary chooses a new draft vocabulary for heads that are trained further: "
            "name them with --start-from, and leave --projection-from away, whose heads bring "
            "their vocabulary."
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
    elsewhere = {"architecture", "kind", "num_heads", "num_blocks", "draft_vocab_size"}
    elsewhere |= {"projection_from", "coverage"}
    return {k: v for k, v in options.recipe().items() if k not in elsewhere}


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
    model: LanguageModel, options: TrainOptions, conversations: list[Conversation]
) -> tuple[MedusaHeads, float, dict[str, Any]]:
    """Heads in float32 on the model's device, the vocabulary's coverage, and their past."""
    past: dict[str, Any] = {}
    if options.start_from is not None:
        heads = load_heads(options.start_from, model, dtype=torch.float32)
        require_same_split(heads, options, options.start_from)
        past = {"started_from": heads.config.training}
        heads = copy_heads(heads, options.num_blocks)
    else:
        heads = _new_heads(model, options, conversations)
    if isinstance(heads, HydraHeads):
        heads.use_embeddings(model.embeddings)
    if options.projection_from is not None:
        _borrow_projection(heads, _lender(model, options), options.projection_from.name)
    elif options.start_from is not None and options.new_vocabulary:
        _change_vocabulary(heads, model, options, conversations)
    for name, parameter in heads.named_parameters():
        parameter.requires_grad_(name != "projection" or not heads.config.projection_from)
    known = None if heads.token_map is None else heads.token_map.tolist()
    coverage = 1.0 if known is None else coverage_of(known, conversations)
    return heads, coverage, past


def _new_heads(
    model: LanguageModel, options: TrainOptions, conversations: list[Conversation]
) -> MedusaHeads:
    weight = model.lm_head_weight()
    config = HeadsConfig(
        architecture=options.architecture,
        kind=options.kind,
        num_heads=options.num_heads,
        num_blocks=options.num_blocks,
        hidden_size=weight.shape[1],
        vocab_size=weight.shape[0],
        draft_vocab_size=2 if options.kind == "draft_vocab" else None,
        base_model=model.name,
    )
    if options.projection_from is not None:
        return new_heads(config).to(model.device)  # their projection is still to be borrowed
    token_map = None
    if options.kind == "draft_vocab":
        token_map = _vocabulary(options, conversations, config.vocab_size)
        config = config.model_copy(update={"draft_vocab_size": len(token_map)})
    return ARCHITECTURES[options.architecture].create(config, weight, token_map).to(model.device)


def _vocabulary(
    options: TrainOptions, conversations: list[Conversation], vocab_size: int
) -> Tensor:
    size = min(options.draft_vocab_size, vocab_size)
    size = vocabulary_size(conversations, options.coverage, size)
    return pick_draft_vocabulary(conversations, size, vocab_size)[0]


def _change_vocabulary(
    heads: MedusaHeads,
    model: LanguageModel,
    options: TrainOptions,
    conversations: list[Conversation],
) -> None:
    if heads.config.kind != "draft_vocab" or heads.config.projection_from:
        raise ExplorerError(
            f"The heads in {options.start_from} have no draft vocabulary of their own to choose "
            "again: omit --new-vocabulary."
        )
    token_map = _vocabulary(options, conversations, heads.config.vocab_size)
    heads.change_vocabulary(token_map, model.lm_head_weight())


def _lender(model: LanguageModel, options: TrainOptions) -> MedusaHeads:
    """The heads whose projection is used; a checkpoint names only their folder."""
    folder = options.projection_from.resolve()
    if folder.parent != options.out.resolve().parent:
        raise ExplorerError(
            f"The heads in {folder} lend their projection, so both must lie in one folder: "
            f"choose a place beside them, such as {folder.parent / options.out.name}."
        )
    lender = load_heads(folder, model, dtype=torch.float32)
    if lender.config.kind == "shared" or lender.config.projection_from:
        raise ExplorerError(
            f"The heads in {folder} have no projection of their own to lend: name other heads, or "
            "omit --projection-from."
        )
    return lender


def _borrow_projection(heads: MedusaHeads, lender: MedusaHeads, name: str) -> None:
    heads.config = heads.config.model_copy(
        update={
            "kind": lender.config.kind,
            "draft_vocab_size": lender.config.draft_vocab_size,
            "projection_from": name,
        }
    )
    heads.projection = lender.projection
    if lender.token_map is not None:
        heads.set_token_map(lender.token_map)


class _HeadsTask:
    """The heads' loss and accuracy, for the loop in `fitting`."""

    def __init__(
        self,
        options: TrainOptions,
        heads: MedusaHeads,
        targets: Targets,
        train_rows: Tensor,
        held_rows: Tensor,
        facts: dict[str, Any],
    ) -> None:
        self.options, self.heads, self.targets, self.facts = options, heads, targets, facts
        self.train_rows, self.held_rows = train_rows, held_rows
        self.cache, self.device = targets.cache, heads.block_weight.device

    def groups(self) -> list[dict[str, Any]]:
        """See Task: everything that is trained, at one learning rate."""
        return [{"params": list(self.trained().values()), "lr": self.options.lr}]

    def trained(self) -> dict[str, Tensor]:
        """See Task."""
        named = self.heads.named_parameters()
        return {name: p for name, p in named if p.numel() and p.requires_grad}

    def loss(self, batch: list[int], done: float) -> tuple[Tensor, dict[str, float]]:
        """See Task: cross-entropy of some positions, summed over the heads with their weights."""
        rows = self.train_rows[torch.tensor(batch)]
        hidden = self.cache.hidden[rows].to(self.device)
        decay, dropout = self.options.head_decay, self.options.dropout
        losses = head_losses(self.heads, hidden, self.targets, rows, dropout)
        return heads_loss(losses, decay), named_losses(losses.detach())

    def save(self, epoch: int, history: list[dict[str, Any]]) -> dict[str, Any]:
        """See Task: measure the heads as they would be stored, and store them if they are best."""
        stored = as_stored(self.heads, self.options.storage_dtype)
        accuracy = head_accuracy(stored, self.cache, self.held_rows)
        figures = {"accuracy": accuracy, "score": round(sum(accuracy["top1"]), 4)}
        if figures["score"] >= max((record.get("score", 0.0) for record in history), default=0.0):
            records = [*history[:-1], {**history[-1], **figures}]
            config = self.heads.config
            config.accuracy = {"text": "held-out self-distilled replies", **accuracy}
            config.training = {**self.facts, "epochs_done": epoch, "history": records}
            save_heads(self.heads, self.options.out, self.options.storage_dtype)
        return figures
