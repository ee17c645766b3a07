"""A head trained in class: some ninety seconds on a little text, looked at as they pass.

The same loss, targets and schedule as `train heads` (Medusa-1), from W₁ = 0 and W₂ = rows of the LM
head, on a few conversations. Good heads take hours; here one sees in which order they learn.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from explorer.heads.checkpoints import save_heads
from explorer.heads.heads import HeadsConfig, MedusaHeads
from explorer.models.base import LanguageModel
from explorer.training.data import (
    Conversation,
    drop_loops,
    pick_draft_vocabulary,
    read_conversations,
    split_holdout,
)
from explorer.training.evaluate import head_accuracy, targets_of
from explorer.training.fitting import warmup_cosine
from explorer.training.heads_step import head_losses
from explorer.training.held_out_ranks import save_held_out_ranks
from explorer.training.hidden_cache import HiddenCache, filling, opened
from explorer.training.targets import Targets, build_targets

TOP = 3  # guesses of a head that are shown
READ_TOKENS = 512  # at a time: others get their turn in between, and a class can be stopped
MOMENTS = 1000  # of the schedule, which follows the clock


@dataclass(frozen=True)
class Lesson:
    """How a class goes: text, size and pace. `every`: seconds between two looks at the heads."""

    data: Path
    cache_folder: Path
    conversations: int = 96
    held_out: int = 8
    max_tokens: int = 160
    vocabulary: int = 4096
    num_heads: int = 4
    seconds: float = 90.0
    every: float = 15.0
    batch: int = 128
    lr: float = 2e-3
    decay: float = 0.8
    seed: int = 0


@dataclass(frozen=True)
class ClassText:
    """Conversations, and the indices of those trained on and held out."""

    conversations: list[Conversation]
    train: list[int]
    held: list[int]


def reading(model: LanguageModel, text: ClassText, lesson: Lesson) -> Iterator[dict[str, Any]]:
    """The model reads the text, a few conversations at a time; how far it is. Raises
    ExplorerError."""
    return filling(model, text.conversations, lesson.cache_folder, READ_TOKENS)


class Classroom:
    """Heads in training, with the text that they are looked at on, once the model has read it.

    Raises ExplorerError.
    """

    def __init__(self, model: LanguageModel, lesson: Lesson, text: ClassText) -> None:
        self.model, self.lesson, self.text = model, lesson, text
        chosen, train, held = text.conversations, text.train, text.held
        self.cache = opened(model, chosen, lesson.cache_folder)
        self.train_rows, self.held_rows = self.cache.rows_of(train), self.cache.rows_of(held)
        self.prompt = list(chosen[held[0]].prompt)  # of the reply that is decoded again
        self.example = int(self.cache.starts[held[0]]) + 8  # a row whose step is looked at
        self.reply = slice(*self.cache.starts[held[0] : held[0] + 2].tolist())
        self.heads = _untrained(model, [chosen[i] for i in train], lesson)
        self.targets: Targets = build_targets(model, self.heads, self.cache, 0.5)
        self.optimizer = torch.optim.AdamW(self.heads.parameters(), lr=lesson.lr)
        self.updates = 0

    def lesson_frames(self) -> Iterator[dict[str, Any]]:
        """A frame before the first update, then one every `every` seconds of training.

        A frame holds "seconds" and "update", the mean "losses" [K] of each head since the frame
        before, held-out "top1" [K], the "guesses" [K][TOP] at one fixed step as (token id,
        probability), and "tokens_per_step" of a chain of first guesses on a held-out reply.
        Between frames None is yielded after each update, so that others get their turn. The clock
        of the class counts the updates alone: neither looks nor the turns of others.
        """
        spent, looks = 0.0, itertools.count(1)
        yield self._frame(0.0, [])
        factor = warmup_cosine(MOMENTS, 0.1)
        losses: list[Tensor] = []
        due = next(looks) * self.lesson.every
        while spent < self.lesson.seconds:
            began = time.perf_counter()
            losses.append(self._update(factor(int(MOMENTS * spent / self.lesson.seconds))))
            spent += time.perf_counter() - began
            if spent >= due:
                yield self._frame(spent, losses)
                losses, due = [], next(looks) * self.lesson.every
            else:
                yield None

    @torch.enable_grad()
    def _update(self, factor: float) -> Tensor:
        """One update; the losses [K] of the heads, without their weights."""
        torch.manual_seed(self.lesson.seed * 1_000_003 + self.updates)
        rows = self.train_rows[torch.randint(len(self.train_rows), (self.lesson.batch,))]
        for group in self.optimizer.param_groups:
            group["lr"] = self.lesson.lr * factor
        losses = head_losses(self.heads, self.cache.hidden[rows], self.targets, rows)
        weights = self.lesson.decay ** torch.arange(1, len(losses) + 1)
        self.optimizer.zero_grad(set_to_none=True)
        (losses * weights).sum().backward()
        torch.nn.utils.clip_grad_norm_(self.heads.parameters(), 1.0)
        self.optimizer.step()
        self.updates += 1
        return losses.detach()

    def _frame(self, seconds: float, losses: Sequence[Tensor]) -> dict[str, Any]:
        means = torch.stack(list(losses)).mean(0).tolist() if losses else None
        return {
            "seconds": round(seconds, 1),
            "update": self.updates,
            "losses": means and [round(loss, 4) for loss in means],
            "top1": head_accuracy(self.heads, self.cache, self.held_rows)["top1"],
            "guesses": self._guesses(),
            "tokens_per_step": round(self._tokens_per_step(), 3),
        }

    def _guesses(self) -> list[list[tuple[int, float]]]:
        hidden = self.cache.hidden[self.example : self.example + 1]
        ids, probs = self.heads.propose(hidden, TOP)
        return [
            [(token, round(prob, 4)) for token, prob in zip(tokens, values, strict=True)]
            for tokens, values in zip(ids[0].tolist(), probs[0].tolist(), strict=True)
        ]

    def truth(self) -> list[int]:
        """The tokens of the fixed step: the root, and what each head should guess after it."""
        count = self.heads.config.num_heads
        return self.cache.tokens[self.example : self.example + count + 1].tolist()

    def before(self, tokens: int = 24) -> list[int]:
        """The reply before that root, at most that many tokens of it."""
        start = max(self.reply.start, self.example - tokens)
        return self.cache.tokens[start : self.example].tolist()

    def keep(self, folder: Path) -> None:
        """Save the heads as they are, with how they were made and how right they are on the text
        that they were not trained on. Raises ExplorerError."""
        self.heads.config.training = {
            "method": "Medusa-1, in class",
            "updates": self.updates,
            "train_tokens": len(self.train_rows),
            "data": self.lesson.data.name,
        }
        measured = head_accuracy(self.heads, self.cache, self.held_rows)
        self.heads.config.accuracy = {"text": "replies held out of the class", **measured}
        save_heads(self.heads, folder, "bfloat16")
        texts = self.text.conversations
        save_held_out_ranks(self.model, folder, self.cache, self.text.held, texts)

    def _tokens_per_step(self) -> float:
        """Replay of greedy decoding: the reply is the base model's own, so this is exact."""
        return tokens_per_step(self.heads, self.cache, self.reply)


@torch.inference_mode()
def tokens_per_step(heads: MedusaHeads, cache: HiddenCache, reply: slice) -> float:
    """τ of a chain of each head's first guess over the rows of a reply."""
    rows = torch.arange(reply.start, reply.stop)
    targets, valid = targets_of(cache, rows, heads.config.num_heads)
    first = heads.propose(cache.hidden[rows], 1)[0][..., 0].cpu()
    accepted = ((first == targets) & valid).int().cumprod(1).sum(1).tolist()
    at, steps = 0, 0
    while at < len(rows):
        at, steps = at + 1 + accepted[at], steps + 1
    return len(rows) / steps


def class_text(model: LanguageModel, lesson: Lesson) -> ClassText:
    """A few conversations of the lesson's text. Raises ExplorerError."""
    read = read_conversations(lesson.data, model.vocab_size)
    fit = [c for c in read if len(c.response) >= 40 and len(c.prompt) <= lesson.max_tokens // 2]
    usable = drop_loops([c.truncated(lesson.max_tokens) for c in fit], 0.5)
    train, held = split_holdout(usable, 0.05, lesson.seed)
    some = [*train[: lesson.conversations], *held[: lesson.held_out]]
    count = min(lesson.conversations, len(train))
    chosen = [usable[index] for index in some]
    return ClassText(chosen, list(range(count)), list(range(count, len(chosen))))


def _untrained(
    model: LanguageModel, conversations: Sequence[Conversation], lesson: Lesson
) -> MedusaHeads:
    weight = model.lm_head_weight()
    token_map = pick_draft_vocabulary(conversations, lesson.vocabulary, weight.shape[0])[0]
    config = HeadsConfig(
        kind="draft_vocab",
        num_heads=lesson.num_heads,
        num_blocks=1,
        hidden_size=weight.shape[1],
        vocab_size=weight.shape[0],
        draft_vocab_size=len(token_map),
        base_model=model.name,
    )
    torch.manual_seed(lesson.seed)
    return MedusaHeads.create(config, weight, token_map).to(model.device)
