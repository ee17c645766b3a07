"""Rank rows of many texts in one small file, shipped with the heads.

With the file a machine finds its best tree at once: accuracies belong to the heads and are the same
everywhere, only costs have to be measured on the machine. A position is one short string with a
character per head: `a` for rank 0, `b` for rank 1, …, `.` where the true token was not among the
predictions that were kept.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import BaseModel as Schema
from pydantic import ConfigDict, Field, ValidationError, model_validator

from explorer.analysis.joint_counts import MISS, RankedText
from explorer.records.errors import ExplorerError
from explorer.records.step import MAX_HEADS, TOP_HEADS

if TYPE_CHECKING:
    from explorer.heads.heads import MedusaHeads

FILE_NAME = "rank_table.json.gz"
MAX_BYTES = 64 << 20  # unpacked
LETTERS = "abcdefghijklmnop"


class RankTable(Schema):
    """Rank rows of texts that the heads were not trained on.

    `texts` holds one string for each text, `num_heads` characters for each position; `before`, if
    known, gives the number of tokens before each; `heads` is the hash of the heads they belong
    to, `source` describes the texts.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format_version: Literal[1] = 1
    heads: str
    num_heads: int = Field(ge=1, le=MAX_HEADS)
    width: int = Field(ge=1, le=TOP_HEADS, description="predictions kept per head")
    source: str
    texts: list[str]
    before: list[int] | None = None

    @model_validator(mode="after")
    def _a_length_for_each_text(self) -> RankTable:
        if self.before is not None and len(self.before) != len(self.texts):
            raise ValueError("before and texts differ in length")
        return self

    @classmethod
    def of(cls, texts: Iterable[RankedText], **fields: Any) -> RankTable:
        """From rank rows of texts."""
        texts = list(texts)
        return cls(
            texts=[_letters(text.rows) for text in texts],
            before=[text.before for text in texts],
            **fields,
        )

    def ranked(self) -> list[RankedText]:
        """The rank rows of every text, int16. Raises ExplorerError if malformed."""
        before = self.before or [0] * len(self.texts)
        return [
            RankedText(_ranks(text, self.num_heads), length)
            for text, length in zip(self.texts, before, strict=True)
        ]


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


def rank_table_of(heads: MedusaHeads, texts: Iterable[RankedText], source: str) -> RankTable:
    """The table of these heads from the rank rows of texts.

    They must be texts that the heads were not trained on; `source` describes them. Made once,
    when heads are trained, and saved beside them.
    """
    from explorer.heads.fingerprint import heads_hash  # brings torch, which reading does not need

    return RankTable.of(
        texts,
        heads=heads_hash(heads),
        num_heads=heads.config.num_heads,
        width=min(TOP_HEADS, heads.config.output_size),
        source=source,
    )
