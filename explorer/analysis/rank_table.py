"""Rank rows of many texts in one small file, shipped beside the heads.

The file lets a machine find its best tree at once: accuracies belong to the heads and are the same
everywhere, only costs have to be measured at the place. A position is one short string with a
character per head: `a` for rank 0, `b` for rank 1, …, `.` where the true token was not among the
predictions that were kept.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from pydantic import BaseModel as Schema
from pydantic import ConfigDict, Field, ValidationError

from explorer.analysis.calibration_file import heads_hash
from explorer.analysis.joint_counts import MISS, JointCounts, count_paths
from explorer.errors import ExplorerError
from explorer.tracing.schema import MAX_HEADS, TOP_HEADS

if TYPE_CHECKING:
    from explorer.models.base import BaseModel
    from explorer.models.heads import MedusaHeads

FILE_NAME = "rank_table.json.gz"
MAX_BYTES = 64 << 20  # unpacked
LETTERS = "abcdefghijklmnop"
BLOCK = 256  # positions whose head predictions are held in memory at once


class RankTable(Schema):
    """Rank rows of texts that the heads were not trained on.

    `texts` holds a text a string, `num_heads` characters a position; `heads` is the hash of the
    heads they belong to, `source` says in words which texts these are.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format_version: Literal[1] = 1
    heads: str
    num_heads: int = Field(ge=1, le=MAX_HEADS)
    width: int = Field(ge=1, le=TOP_HEADS, description="predictions kept per head")
    source: str
    texts: list[str]

    @classmethod
    def of(cls, rows: Iterable[np.ndarray], **fields: object) -> RankTable:
        """From rank rows, [positions, heads] each."""
        return cls(texts=[_letters(text) for text in rows], **fields)

    def rows(self) -> list[np.ndarray]:
        """The rank rows of every text: [positions, heads] int16. ExplorerError if malformed."""
        return [_ranks(text, self.num_heads) for text in self.texts]

    def counts(self) -> JointCounts:
        """Joint path counts over all texts."""
        return count_paths(self.rows(), self.width)


def _letters(rows: np.ndarray) -> str:
    return "".join("." if rank == MISS else LETTERS[rank] for rank in rows.flatten().tolist())


def _ranks(text: str, num_heads: int) -> np.ndarray:
    if len(text) % num_heads or set(text) - {*LETTERS, "."}:
        raise ExplorerError("The rank table beside the heads is damaged: run `calibrate` again.")
    ranks = [LETTERS.find(letter) for letter in text]  # "." is not found: MISS
    return np.array(ranks, dtype=np.int16).reshape(-1, num_heads)


def save_rank_table(table: RankTable, folder: str | Path) -> Path:
    """Write the table into a heads folder; the same table gives the same bytes."""
    path = Path(folder) / FILE_NAME
    path.write_bytes(gzip.compress(table.model_dump_json().encode(), mtime=0))
    return path


def load_rank_table(folder: str | Path) -> RankTable | None:
    """The table in a heads folder, or None. Raises ExplorerError for a damaged file."""
    path = Path(folder) / FILE_NAME
    if not path.is_file():
        return None
    try:
        with gzip.open(path) as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise ValueError("too large")
        return RankTable.model_validate(json.loads(data))
    except (OSError, EOFError, ValueError, RecursionError, ValidationError) as error:
        raise ExplorerError(
            f"The rank table {path} is damaged: delete it and run `calibrate` again."
        ) from error


def measure_rank_table(
    model: BaseModel,
    heads: MedusaHeads,
    texts: Iterable[tuple[Sequence[int], Sequence[int]]],
    source: str,
) -> RankTable:
    """The table of these heads over finished texts, each (prompt ids, greedy reply ids).

    They must be texts that the heads were not trained on; `source` says which. Made once, when
    heads are trained, and saved beside them.
    """
    rows = [rank_rows_of_text(model, heads, prompt, reply) for prompt, reply in texts]
    return RankTable.of(
        rows,
        heads=heads_hash(heads),
        num_heads=heads.config.num_heads,
        width=min(TOP_HEADS, heads.config.output_size),
        source=source,
    )


@torch.inference_mode()
def rank_rows_of_text(
    model: BaseModel, heads: MedusaHeads, prompt: Sequence[int], reply: Sequence[int]
) -> np.ndarray:
    """Rank rows [positions, heads] of a finished reply, from one pass over the whole text.

    The same rows as decoding the reply would record, many times faster. Positions start at the
    last prompt token and end where a head's target would lie past the reply.
    """
    tokens = torch.tensor([*prompt, *reply])
    hidden = model.hidden_states(tokens)
    num_heads = heads.config.num_heads
    first, stop = len(prompt) - 1, len(tokens) - 1 - num_heads
    parts = []
    for start in range(first, stop, BLOCK):
        end = min(start + BLOCK, stop)
        ahead = tokens[start + 1 :].unfold(0, num_heads + 1, 1)[: end - start]  # [m, K + 1]
        path, targets = ahead[:, :-1], ahead[:, 1:]
        ids = heads.propose(hidden[start:end], TOP_HEADS, path)[0].cpu()  # [m, K, top]
        hit = ids == targets[..., None]  # [m, K, top]
        parts.append(torch.where(hit.any(-1), hit.int().argmax(-1), MISS).numpy())
    return np.concatenate(parts).astype(np.int16) if parts else np.empty((0, num_heads), np.int16)
