"""A draft of Medusa heads as one recorded piece of work: a GPU then launches it as a whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

from explorer.kernels.graphs import Recordings

Guesses = tuple[Tensor, Tensor]


class Guessing(Protocol):
    """What is needed of heads (heads.heads.MedusaHeads)."""

    def guess(self, hidden: Tensor, top: int) -> Guesses:
        """Ids and probabilities, one operation after the other."""
        ...


class RecordedDrafts:
    """Drafts after one hidden state, recorded for each number of guesses that is asked for."""

    def __init__(self, heads: Guessing, recordings: Recordings) -> None:
        self._heads = heads
        self._recordings = recordings
        self._drafts: dict[int, tuple[Tensor, Callable[[], Guesses]]] = {}

    @torch.inference_mode()
    def __call__(self, hidden: Tensor, top: int) -> Guesses:
        """Ids int64 and probabilities float32, [1, K, top] each, of hidden [1, H]."""
        if top not in self._drafts:
            given = torch.zeros_like(hidden)
            work = self._recordings.of(lambda: self._heads.guess(given, top))
            self._drafts[top] = given, work
        given, work = self._drafts[top]
        given.copy_(hidden)
        ids, probs = work()
        return ids.clone(), probs.clone()  # the next recording may write to the same place
