"""The right predictions of trained heads on held-out text, from which their tree is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from explorer.analysis.joint_counts import MISS, RankedText
from explorer.analysis.rank_table import rank_table_of, save_rank_table
from explorer.heads.checkpoints import load_heads
from explorer.heads.heads import MedusaHeads
from explorer.models.base import LanguageModel
from explorer.records.errors import ExplorerError
from explorer.records.step import TOP_HEADS
from explorer.training.data import Conversation
from explorer.training.hidden_cache import HiddenCache

BLOCK = 256  # positions whose head predictions are held in memory at once


def save_held_out_ranks(
    model: LanguageModel,
    folder: Path,
    cache: HiddenCache,
    held: Sequence[int],
    conversations: Sequence[Conversation],
) -> Path:
    """Put a rank table beside the heads in `folder`, from hidden states that are there already.

    `held`: which of the cache's conversations the heads were not trained on. Raises ExplorerError
    if it cannot be written.
    """
    heads, bounds = load_heads(folder, model), cache.starts.tolist()
    texts = []
    for index in held:
        span = slice(bounds[index], bounds[index + 1])
        rows = rank_rows_of_states(heads, cache.hidden[span], cache.tokens[span])
        texts.append(RankedText(rows, len(conversations[index].prompt) - 1))
    table = rank_table_of(heads, texts, f"{len(held)} held-out training conversations")
    try:
        return save_rank_table(table, folder)
    except OSError as error:
        raise ExplorerError(
            f"The rank table cannot be written to {folder} ({error.strerror or error}): free some "
            "disk space and run the same command again."
        ) from error


@torch.inference_mode()
def rank_rows_of_states(
    heads: MedusaHeads, hidden: torch.Tensor, reply: torch.Tensor
) -> np.ndarray:
    """Rank rows [positions, heads] of a finished reply, int64 [R], many positions at a time.

    hidden [R, H]: from row i the LM head predicts token i of the reply. The same rows as decoding
    the reply would record, up to where a head's target would lie past its end.
    """
    num_heads, device = heads.config.num_heads, heads.block_weight.device
    stop = len(reply) - num_heads
    parts = []
    for start in range(0, stop, BLOCK):
        end = min(start + BLOCK, stop)
        ahead = reply[start:].unfold(0, num_heads + 1, 1)[: end - start]  # [m, K + 1]
        path, targets = ahead[:, :-1], ahead[:, 1:]
        ids = heads.propose(hidden[start:end].to(device), TOP_HEADS, path.to(device))[0].cpu()
        hit = ids == targets[..., None]  # [m, K, top]
        parts.append(torch.where(hit.any(-1), hit.int().argmax(-1), MISS).numpy())
    return np.concatenate(parts).astype(np.int16) if parts else np.empty((0, num_heads), np.int16)
