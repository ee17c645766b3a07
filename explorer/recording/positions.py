"""The heads' predictions at every emitted position: the record for replaying other trees.

Each draft yields the head predictions of one position. The other accepted rows need an extra head
pass; they are batched, so their records may arrive a few steps late.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from explorer.heads.heads import MedusaHeads
from explorer.recording.snapshot import Snapshot
from explorer.records.step import TOP_HEADS, Position, TopTokens

BATCH = 8  # positions in one extra pass of the heads
DECIMALS = 6  # of every recorded probability

Pending = tuple[torch.Tensor, int, int]  # hidden [1, H], absolute index, the base model's choice


class HeadPredictions:
    """Collects the positions of one run; without heads there are none."""

    def __init__(self, heads: MedusaHeads | None) -> None:
        self._heads = heads
        self._pending: list[Pending] = []
        self._text: list[int] = []  # prompt and reply as far as recorded
        self._hidden: torch.Tensor | None = None  # [1, H] that chose the coming root
        self._first = True

    def start(self, prompt: Sequence[int], hidden: torch.Tensor, choice: int) -> Position | None:
        """The last prompt position, from its hidden [1, H], if it can be recorded now."""
        self._text = list(prompt)
        if self._heads is None:
            return None
        position = (hidden, len(prompt) - 1, choice)
        if self._heads.sees_path:  # and what follows is not written yet
            self._pending.append(position)
            return None
        return self._predict([position])[0]

    def step(self, snapshot: Snapshot, choice: int) -> list[Position]:
        """The position that chose the step's root, and now and then those of earlier rows.

        choice: the base model's first choice where the root was chosen.
        """
        self._text.extend(snapshot.emitted)
        if self._heads is None:
            return []
        known = [] if self._first else self._of_root(snapshot, choice)
        self._first = False
        if snapshot.verdict is not None:
            for depth, row in enumerate(snapshot.verdict.path[:-1]):
                hidden, first = snapshot.hidden[depth : depth + 1], snapshot.figures.ids[row, 0]
                self._collect(hidden, snapshot.context_length + depth, int(first))
            self._hidden = snapshot.hidden[-1:]
        # Heads that see their path need the text after a position: wait for it.
        reach = self._heads.config.num_heads if self._heads.sees_path else 0
        ready = [item for item in self._pending if item[1] + reach < len(self._text)]
        if len(ready) < BATCH:
            return known
        self._pending = self._pending[len(ready) :]
        return known + self._predict(ready)

    def rest(self) -> list[Position]:
        """The remaining positions, at the end of the run."""
        left, self._pending = self._pending, []
        return self._predict(left) if left else []

    def _of_root(self, snapshot: Snapshot, choice: int) -> list[Position]:
        before = snapshot.context_length - 1
        if snapshot.draft.record.heads is None:
            self._collect(self._hidden, before, choice)
            return []
        ids, probs = snapshot.draft.record.heads
        heads = top_tokens(ids[:, :TOP_HEADS], probs[:, :TOP_HEADS])
        return [Position(index=before, base_choice=choice, heads=heads)]

    def _collect(self, hidden: torch.Tensor, index: int, choice: int) -> None:
        self._pending.append((hidden, index, choice))

    def _predict(self, items: list[Pending]) -> list[Position]:
        """All of `items`; near the end of the text, only the heads whose path is written."""
        hidden, indices, choices = zip(*items, strict=True)
        num_heads, last = self._heads.config.num_heads, len(self._text) - 1
        path, counts = None, [num_heads] * len(items)
        if self._heads.sees_path:
            following = [range(index + 1, index + 1 + num_heads) for index in indices]
            path = torch.tensor([[self._text[min(i, last)] for i in span] for span in following])
            counts = [min(num_heads, last - index) for index in indices]
        ids, probs = self._heads.propose(torch.cat(hidden), TOP_HEADS, path)  # [m, K, 16]
        return [
            Position(index=index, base_choice=choice, heads=top_tokens(i[:count], p[:count]))
            for index, choice, i, p, count in zip(indices, choices, ids, probs, counts, strict=True)
        ]


def rounded(values: torch.Tensor) -> list:
    """A tensor of probabilities as nested lists of short decimals."""
    return values.double().clamp(0, 1).round(decimals=DECIMALS).tolist()


def top_tokens(ids: torch.Tensor, probs: torch.Tensor) -> list[TopTokens]:
    """One TopTokens per row of ids, probs [rows, k]."""
    return [TopTokens(ids=i, probs=p) for i, p in zip(ids.tolist(), rounded(probs), strict=True)]
