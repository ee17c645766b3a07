"""Which predictions of trained heads are right on held-out text: what chooses their best tree."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from explorer.analysis.joint_counts import RankedText
from explorer.analysis.rank_table import rank_rows_of_states, rank_table_of, save_rank_table
from explorer.heads.checkpoints import load_heads
from explorer.models.base import BaseModel
from explorer.records.errors import ExplorerError
from explorer.training.data import Conversation
from explorer.training.hidden_cache import HiddenCache


def save_held_out_ranks(
    model: BaseModel,
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
