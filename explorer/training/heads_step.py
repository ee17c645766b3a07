"""Shared parts of training heads, alone (Medusa-1) or with their base model (Medusa-2)."""

from __future__ import annotations

from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from explorer.heads.head_storage import Storage, restored, stored
from explorer.heads.heads import MedusaHeads
from explorer.heads.hydra import HydraHeads, copy_heads
from explorer.records.errors import ExplorerError
from explorer.training.evaluate import following
from explorer.training.fitting import FitOptions
from explorer.training.loss import sparse_cross_entropy
from explorer.training.precision import mixed_precision
from explorer.training.targets import Targets


def heads_loss(losses: Tensor, decay: float) -> Tensor:
    """Σ over heads k of decay^k · L_k (Medusa paper, section 2.2.1) of losses L [K]."""
    ks = torch.arange(1, len(losses) + 1, device=losses.device)
    return (losses * decay**ks).sum()


def head_losses(
    heads: MedusaHeads, hidden: Tensor, targets: Targets, rows: Tensor, dropout: float = 0.0
) -> Tensor:
    """L_k [K]: the mean cross-entropy of each head over its targets.

    hidden [n, H] are the states of the cache rows int64 [n], on the heads' device.
    """
    count, device = heads.config.num_heads, hidden.device
    path = following(targets.cache, rows, count).to(device)
    ids, weights = (x.to(device) for x in targets.of(rows, count))
    weights = weights / weights.sum((-1, -2), keepdim=True).clamp(min=1e-6)
    with mixed_precision(device):
        features = heads.features(F.dropout(hidden.float(), dropout), path)
    features = F.dropout(features, dropout)
    rows_of = heads.rows if heads.config.kind == "own" else [heads.rows] * count
    parts = zip(features, rows_of, ids, weights, strict=True)
    return torch.stack([sparse_cross_entropy(*part) for part in parts])


def named_losses(losses: Tensor) -> dict[str, float]:
    """L_k by name, as the log has them: {"head_1_loss": 4.2, …}."""
    return {f"head_{k}_loss": loss for k, loss in enumerate(losses.tolist(), start=1)}


def as_stored(heads: MedusaHeads, storage: Storage) -> MedusaHeads:
    """A copy of the heads as a checkpoint will give them back."""
    copy = copy_heads(heads).eval().requires_grad_(False)
    for parameter in copy.parameters():
        parameter.data = restored(stored(parameter.data.cpu(), storage)).to(parameter.device)
    copy.to(copy.block_bias.dtype)  # an LM head that is shared, too
    if isinstance(copy, HydraHeads):
        copy.use_embeddings(heads.embeddings)
    return copy


def require_same_split(heads: MedusaHeads, options: FitOptions, folder: Path) -> None:
    """Refuse heads for which other text was held out than is now. Raises ExplorerError."""
    past = heads.config.training
    for name in ("seed", "holdout", "max_tokens", "least_distinct"):
        if name in past and past[name] != getattr(options, name):
            raise ExplorerError(
                f"The heads in {folder} were trained with {name} {past[name]}, so text held out "
                "now may be text they have seen: use the same value."
            )
