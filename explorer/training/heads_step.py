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


def heads_loss(
    heads: MedusaHeads,
    hidden: Tensor,
    targets: Targets,
    rows: Tensor,
    decay: float,
    dropout: float = 0.0,
) -> Tensor:
    """Σ over heads k of decay^k · the mean cross-entropy of head k (Medusa paper, section 2.2.1).

    hidden [n, H] are the states of the cache rows int64 [n], on the heads' device.
    """
    count, device = heads.config.num_heads, hidden.device
    path = following(targets.cache, rows, count).to(device)
    ids, weights = (x.to(device) for x in targets.of(rows, count))
    # Mean over each head's targets, then the heads' weights.
    mass = weights.sum((-1, -2), keepdim=True).clamp(min=1e-6)
    share = torch.tensor([decay**k for k in range(1, count + 1)], device=device)
    weights = weights / mass * share[:, None, None]
    with mixed_precision(device):
        features = heads.features(F.dropout(hidden.float(), dropout), path)
    features = F.dropout(features, dropout)
    if heads.config.kind == "own":
        parts = zip(features, heads.rows, ids, weights, strict=True)
        losses = (sparse_cross_entropy(*part) for part in parts)
        return sum(losses, torch.zeros((), device=device))
    flat = features.flatten(0, 1), heads.rows, ids.flatten(0, 1), weights.flatten(0, 1)
    return sparse_cross_entropy(*flat)


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
