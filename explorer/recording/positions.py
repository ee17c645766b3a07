"""What the heads predict at every emitted position: the record that other trees are replayed on.

A step's draft tells it of one position; the accepted rows but the last need a pass of the heads of
their own. Such rows are collected, since a pass over many costs little more than one, so some
positions are told later than the step they belong to.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from explorer.decoding.loop import StepResult
from explorer.heads.heads import MedusaHeads
from explorer.records.schema import TOP_HEADS, Position, TopTokens

TOLD_TOGETHER = 8  # positions that are worth a pass of the heads
DECIMALS = 6  # of every recorded probability

Untold = tuple[torch.Tensor, int, int]  # hidden [1, H], absolute index, the base model's choice


class HeadPredictions:
    """Collects the positions of one run; without heads there is nothing to tell."""

    def __init__(self, heads: MedusaHeads | None) -> None:
        self._heads = heads
        self._untold: list[Untold] = []
        self._text: list[int] = []  # prompt and reply as far as recorded
        self._hidden: torch.Tensor | None = None  # [1, H] that chose the coming root
        self._first = True

    def start(self, prompt: Sequence[int], hidden: torch.Tensor, choice: int) -> Position | None:
        """The last prompt position, from its hidden [1, H], if it can be told by now."""
        self._text = list(prompt)
        if self._heads is None:
            return None
        position = (hidden, len(prompt) - 1, choice)
        if self._heads.sees_path:  # and what follows is not written yet
            self._untold.append(position)
            return None
        return self._tell([position])[0]

    def step(self, result: StepResult, choice: int, best: torch.Tensor | None) -> list[Position]:
        """The position that chose the step's root, and now and then those of earlier rows.

        choice: the base model's first choice there; best [n, k]: its best tokens at every row.
        """
        self._text.extend(result.emitted)
        if self._heads is None:
            return []
        told = [] if self._first else self._of_root(result, choice)
        self._first = False
        if result.verdict is not None:
            *rows, last = result.verdict.path
            for depth, row in enumerate(rows):
                first = int(best[row, 0])
                self._collect(result.hidden[row : row + 1], result.context_length + depth, first)
            self._hidden = result.hidden[last : last + 1].clone()
        # Heads that see their path are told what the text became, once it has come so far.
        reach = self._heads.config.num_heads if self._heads.sees_path else 0
        ready = [item for item in self._untold if item[1] + reach < len(self._text)]
        if len(ready) < TOLD_TOGETHER:
            return told
        self._untold = self._untold[len(ready) :]
        return told + self._tell(ready)

    def rest(self) -> list[Position]:
        """What is left when the run has ended."""
        left, self._untold = self._untold, []
        return self._tell(left) if left else []

    def _of_root(self, result: StepResult, choice: int) -> list[Position]:
        before = result.context_length - 1
        if result.draft.record.heads is None:
            self._collect(self._hidden, before, choice)
            return []
        ids, probs = result.draft.record.heads
        heads = top_tokens(ids[:, :TOP_HEADS], probs[:, :TOP_HEADS])
        return [Position(index=before, base_choice=choice, heads=heads)]

    def _collect(self, hidden: torch.Tensor, index: int, choice: int) -> None:
        self._untold.append((hidden.clone(), index, choice))  # a clone does not hold the whole pass

    def _tell(self, items: list[Untold]) -> list[Position]:
        """All of `items`; near the end of the text, only the heads whose path is written."""
        hidden, indices, choices = zip(*items, strict=True)
        num_heads, last = self._heads.config.num_heads, len(self._text) - 1
        path, told = None, [num_heads] * len(items)
        if self._heads.sees_path:
            following = [range(index + 1, index + 1 + num_heads) for index in indices]
            path = torch.tensor([[self._text[min(i, last)] for i in span] for span in following])
            told = [min(num_heads, last - index) for index in indices]
        ids, probs = self._heads.propose(torch.cat(hidden), TOP_HEADS, path)  # [m, K, 16]
        return [
            Position(index=index, base_choice=choice, heads=top_tokens(i[:known], p[:known]))
            for index, choice, i, p, known in zip(indices, choices, ids, probs, told, strict=True)
        ]


def rounded(values: torch.Tensor) -> list:
    """A tensor of probabilities as nested lists of short decimals."""
    return values.double().clamp(0, 1).round(decimals=DECIMALS).tolist()


def top_tokens(ids: torch.Tensor, probs: torch.Tensor) -> list[TopTokens]:
    """One TopTokens per row of ids, probs [rows, k]."""
    return [TopTokens(ids=i, probs=p) for i, p in zip(ids.tolist(), rounded(probs), strict=True)]
