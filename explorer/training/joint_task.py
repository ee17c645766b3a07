"""The task of `train joint`: an adapter and heads, their loss, and their measurements."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from explorer.heads.checkpoints import save_heads
from explorer.heads.heads import MedusaHeads
from explorer.models.adapters import SUBFOLDER, AdapterConfig, lossless_sentence
from explorer.models.base import LanguageModel
from explorer.training.data import Conversation
from explorer.training.distil import distribution_loss, reply_states
from explorer.training.evaluate import (
    CONVERSATIONS_AT_A_TIME,
    ROWS_AT_A_TIME,
    first_choices,
    head_accuracy,
)
from explorer.training.heads_step import as_stored, head_losses, heads_loss, named_losses
from explorer.training.hidden_cache import HiddenCache
from explorer.training.lora import Lora
from explorer.training.loss import sparse_cross_entropy
from explorer.training.precision import mixed_precision
from explorer.training.targets import Targets


@dataclass
class JointTask:
    """The task that `fit` carries out. `cache` holds the untouched model's hidden states."""

    model: LanguageModel
    lora: Lora
    heads: MedusaHeads
    options: Any
    conversations: list[Conversation]
    train: list[int]
    held: list[int]
    cache: HiddenCache
    targets: Targets

    def groups(self) -> list[dict[str, Any]]:
        """Heads and adapter, each with its own learning rate."""
        heads = [p for p in self.heads.parameters() if p.numel()]
        return [
            {"params": list(self.lora.parameters().values()), "lr": self.options.lr},
            {"params": heads, "lr": self.options.heads_lr},
        ]

    def trained(self) -> dict[str, Tensor]:
        """The adapter's and the heads' parameters by name."""
        heads = {f"heads.{name}": p for name, p in self.heads.named_parameters()}
        return {**self.lora.parameters(), **heads}

    def loss(self, batch: list[int], done: float) -> tuple[Tensor, dict[str, float]]:
        """L_LM + λ0 · L_heads; `done` is the finished share of the run."""
        chosen = [self.train[i] for i in batch]
        rows = self.cache.rows_of(chosen)
        states = self._states(chosen)
        language = self._language_loss(states, rows)
        each = head_losses(self.heads, states, self.targets, rows)
        heads = heads_loss(each, self.options.head_decay)
        ramp = min(1.0, done / self.options.ramp) if self.options.ramp else 1.0
        total = language + self.options.head_weight * ramp * heads
        parts = {"language_loss": language.item(), "heads_loss": heads.item()}
        return total, parts | named_losses(each.detach())

    def _states(self, chosen: list[int]) -> Tensor:
        device = self.model.device
        with self.model.library_attention(), mixed_precision(device):
            return reply_states(self.model, [self.conversations[i] for i in chosen])

    def _language_loss(self, states: Tensor, rows: Tensor) -> Tensor:
        weight = self.model.lm_head.weight
        if self.options.language_loss == "base":
            return distribution_loss(states, self.cache.hidden[rows].to(states.device), weight)
        ids = self.cache.tokens[rows].to(states.device)[:, None]
        return sparse_cross_entropy(states, weight, ids, torch.full(ids.shape, 1 / len(rows)))

    def save(self, epoch: int, history: list[dict[str, Any]]) -> dict[str, Any]:
        """Measure heads and adapter on the held-out text, and store them."""
        tuned, rows = self.held_cache(), self.cache.rows_of(self.held)
        accuracy = head_accuracy(as_stored(self.heads, "bfloat16"), tuned, torch.arange(len(rows)))
        untouched = first_choices(self.model, self.cache.hidden[rows])
        agreement = first_choices(self.model, tuned.hidden) == untouched
        figures = {
            "accuracy": accuracy,
            "agreement": round(agreement.float().mean().item(), 4),
            "perplexity": self.perplexity(tuned.hidden),
        }
        self.store([*history[:-1], {**history[-1], **figures}])
        return figures

    def held_cache(self) -> HiddenCache:
        """The held-out replies alone, with hidden states as the layers compute now."""
        lengths = [len(self.conversations[i].response) for i in self.held]
        starts = torch.tensor([0, *lengths]).cumsum(0)
        tokens = self.cache.tokens[self.cache.rows_of(self.held)]
        return HiddenCache(self.held_states(), tokens, starts)

    @torch.no_grad()
    def held_states(self) -> Tensor:
        """Hidden states bfloat16 [n, H] of the held-out replies, as the layers compute now."""
        parts = [
            self._states(self.held[i : i + CONVERSATIONS_AT_A_TIME]).to("cpu", torch.bfloat16)
            for i in range(0, len(self.held), CONVERSATIONS_AT_A_TIME)
        ]
        return torch.cat(parts)

    @torch.no_grad()
    def perplexity(self, states: Tensor) -> float:
        """exp of the mean negative log-likelihood of the held-out replies' tokens."""
        tokens = self.cache.tokens[self.cache.rows_of(self.held)]
        total = 0.0
        for part, ids in zip(
            states.split(ROWS_AT_A_TIME), tokens.split(ROWS_AT_A_TIME), strict=True
        ):
            logits = self.model.logits(part.to(self.model.device)).cpu()
            total += torch.nn.functional.cross_entropy(logits, ids, reduction="sum").item()
        return round(math.exp(total / len(tokens)), 4)

    def store(
        self, history: list[dict[str, Any]], perplexity: dict[str, float] | None = None
    ) -> None:
        """Write the adapter and the heads that belong to it. Raises ExplorerError."""
        training = {
            "method": "Medusa-2",
            "backend": self.model.backend,
            **self.options.recipe(),
            "history": history,
        }
        adapter = AdapterConfig(
            base_model=self.model.name,
            lossless=lossless_sentence(self.model.name),
            four_bit_rounding=self.lora.training_mode == "rounded",
            perplexity=perplexity or {},
            training=training,
        )
        self.lora.save(self.options.out / SUBFOLDER, adapter)
        heads = as_stored(self.heads, "bfloat16")
        heads.config.accuracy = {"text": "held-out self-distilled replies"}
        heads.config.accuracy |= history[-1]["accuracy"]
        heads.config.training = {**training, "lossless": adapter.lossless, "adapter": SUBFOLDER}
        save_heads(heads, self.options.out)
