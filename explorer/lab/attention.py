"""Attention weights of the steps of a recorded run, computed by the loaded model."""

from __future__ import annotations

import threading

import numpy as np

from explorer.measuring.attention_records import answer, weights_of_step
from explorer.models.base import LanguageModel
from explorer.records.attention import AttentionHead, AttentionQuestion
from explorer.records.schema import Trace


class AttentionWeights:
    """The part of a Lab that computes attention weights, between the steps of its runs."""

    model: LanguageModel
    _turn: threading.Lock

    def attention(self, trace: Trace, step: int, layer: int) -> np.ndarray:
        """Attention weights of a layer in a step: float32 [heads, rows, prefix + rows].

        Steps and layers count from 0, and step −1 is the last. The trace must be of this model:
        its tokens go through the layers again, with the step's own mask and positions. Raises
        ExplorerError.
        """
        with self._turn:
            return weights_of_step(self.model, trace, step, layer).numpy()

    def weigh(self, question: AttentionQuestion) -> list[AttentionHead]:
        """The same as records for a trace: the requested head, then others of its layer.

        Raises ExplorerError.
        """
        with self._turn:
            return answer(self.model, question)
