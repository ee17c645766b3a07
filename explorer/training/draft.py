"""Trains a small draft model on the base model's distribution.

The draft starts as the base model's first layers and learns, on text that the base model wrote
itself, the base model's whole next-token distribution at every position of every reply:

    loss = mean over positions of KL(base ‖ draft), over the draft's vocabulary

The base model's side comes from its hidden states, which are computed once and kept on disk. With
the storage int4 the forward pass rounds every weight as the stored file will, and the gradient
passes through the rounding (straight-through), so storing costs no accuracy.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch.nn.functional as F
from pydantic import BaseModel as Schema
from pydantic import Field
from torch import Tensor, nn

from explorer.kernels.linears import rounded_straight_through
from explorer.models.base import LanguageModel
from explorer.models.draft import (
    DraftModel,
    draft_model,
    first_layers,
    load_draft,
    own_modules,
    packs,
    save_draft,
)
from explorer.models.draft_files import DraftConfig, Storage
from explorer.records.progress import TrainingProgress
from explorer.training.data import Conversation, pick_draft_vocabulary
from explorer.training.distil import distribution_loss, reply_states
from explorer.training.draft_quality import FIGURES, HeldOut, draft_quality
from explorer.training.fitting import FitOptions, fit
from explorer.training.hidden_cache import HiddenCache, hidden_cache
from explorer.training.medusa1 import split_data
from explorer.training.precision import mixed_precision
from explorer.weights.folders import WEIGHTS


class DraftOptions(FitOptions):
    """Settings of draft distillation."""

    layers: int = Field(default=2, ge=1, le=64, description="the base model's first layers")
    storage: Storage = "int4"
    draft_vocab_size: int = Field(
        default=8192, ge=2, description="most frequent tokens that the draft may guess"
    )
    lr: float = Field(default=1e-3, gt=0)


class DraftResult(Schema):
    """The result of training: its settings, path, and accuracy on held-out text."""

    out: Path
    accuracy: dict[str, float]
    coverage: float
    bytes: int
    train_tokens: int
    holdout_tokens: int
    seconds: float
    history: list[dict[str, Any]]


def train_draft(
    model: LanguageModel, options: DraftOptions, progress: TrainingProgress = lambda _: None
) -> DraftResult:
    """Train, measure and save a draft for `model`.

    After every epoch the draft is in `options.out`; a run that was killed resumes from its last
    checkpoint. Raises ExplorerError for data or a model that does not fit, a loss that is no
    number, and a full disk.
    """
    began = time.perf_counter()
    conversations, train, held = split_data(options, model.vocab_size)
    size = min(options.draft_vocab_size, model.vocab_size)
    token_map, coverage = pick_draft_vocabulary(
        [conversations[i] for i in train], size, model.vocab_size
    )
    config = DraftConfig(
        num_layers=options.layers,
        hidden_size=model.hidden_size,
        vocab_size=model.vocab_size,
        draft_vocab_size=size,
        storage=options.storage,
        base_model=model.name,
        training={**options.recipe(), "coverage": round(coverage, 4)},
    )
    network = _trainable(model, config)
    cache = hidden_cache(model, conversations, options.cache_folder, progress)
    held_out = HeldOut.of(model, conversations, cache, held)
    draft = draft_model(network, model, config, token_map)
    task = _Distillation(model, draft, options, conversations, train, held_out, cache)
    lengths = [len(conversations[i].prompt) + len(conversations[i].response) for i in train]
    history = fit(task, options, lengths, options.key(model, conversations), progress)
    return DraftResult(
        out=options.out,
        accuracy={name: history[-1][name] for name in FIGURES},
        coverage=coverage,
        bytes=(options.out / WEIGHTS).stat().st_size,
        train_tokens=len(cache.rows_of(train)),
        holdout_tokens=len(cache.rows_of(held)),
        seconds=round(time.perf_counter() - began, 1),
        history=history,
    )


def _trainable(model: LanguageModel, config: DraftConfig) -> nn.Module:
    """The base's first layers in float32, rounding as they will be stored."""
    network = first_layers(model.network, config.num_layers)
    for name, module in own_modules(network):
        if config.storage == "int4" and packs(module):
            network.base_model.set_submodule(name, _RoundedLinear(module))
    return network


class _RoundedLinear(nn.Linear):
    """A linear layer that computes with its weight as Q4_1 will hold it."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__(linear.in_features, linear.out_features, device="meta")
        self.weight, self.bias = linear.weight, linear.bias

    def forward(self, x: Tensor) -> Tensor:
        """[..., K] → [..., N]."""
        return F.linear(x, rounded_straight_through(self.weight), self.bias)


@dataclass
class _Distillation:
    """The task for `fit`."""

    model: LanguageModel
    draft: DraftModel
    options: DraftOptions
    conversations: list[Conversation]
    train: list[int]
    held_out: HeldOut
    cache: HiddenCache

    def groups(self) -> list[dict[str, Any]]:
        """The draft's own parameters: the base's embedding is frozen and no part of it."""
        return [{"params": list(self.trained().values()), "lr": self.options.lr}]

    def trained(self) -> dict[str, Tensor]:
        """The draft's own parameters by name."""
        return {
            f"{name}.{field}": parameter
            for name, module in own_modules(self.draft.network)
            for field, parameter in module.named_parameters(recurse=False)
        }

    def loss(self, batch: list[int], done: float) -> tuple[Tensor, dict[str, float]]:
        """KL from the base's distributions to the draft's."""
        chosen = [self.train[i] for i in batch]
        device = self.model.device
        with self.draft.library_attention(), mixed_precision(device):
            states = reply_states(self.draft, [self.conversations[i] for i in chosen])
        teacher = self.cache.hidden[self.cache.rows_of(chosen)].to(device)
        return distribution_loss(states, teacher, self.draft.lm_head.weight), {}

    def save(self, epoch: int, history: list[dict[str, Any]]) -> dict[str, Any]:
        """Store the draft, and measure it as it is stored."""
        config, token_map = self.draft.draft_config, self.draft.lm_head.token_map
        save_draft(self.draft.network, config, token_map, self.options.out)
        figures = draft_quality(load_draft(self.options.out, self.model), self.held_out)
        config.accuracy = {"text": "held-out self-distilled replies", **figures}
        config.training["history"] = [*history[:-1], {**history[-1], **figures}]
        save_draft(self.draft.network, config, token_map, self.options.out)
        return figures
