"""The distribution that the base model is sampled from, and draws from it.

Draws use one uniform number per absolute position, fixed by the seed. A token drawn at position t
therefore depends on the seed and on what stands before it, not on the tree, the method or the
order of computation: with a backend whose logits are bit-exact, sampled Medusa decoding writes
the very text that sampled plain decoding writes with the same seed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import torch

from explorer.models.lm_head import top_columns

NUCLEUS_TRY = 256  # tokens among which the nucleus is looked for before sorting everything


class SamplingSettings(Protocol):
    """What sampling needs of the settings (explorer.config.DecodeSettings has it)."""

    temperature: float
    top_p: float
    top_k: int
    seed: int


def distribution(logits: torch.Tensor, settings: SamplingSettings) -> torch.Tensor:
    """Probabilities [m, V] float32 of logits [m, V]: temperature, then top-k, then top-p.

    At temperature 0 all probability is on the argmax.
    """
    if settings.temperature == 0:
        probs = torch.zeros_like(logits)
        return probs.scatter_(1, logits.argmax(dim=-1, keepdim=True), 1.0)
    scaled = logits / settings.temperature
    scaled = scaled - scaled.amax(dim=-1, keepdim=True)  # no temperature can overflow exp
    if 0 < settings.top_k < scaled.shape[1]:
        kept = top_columns(scaled, settings.top_k)
        scaled = torch.full_like(scaled, -torch.inf).scatter_(1, kept, scaled.gather(1, kept))
    probs = torch.softmax(scaled, dim=-1)
    return probs if settings.top_p >= 1.0 else _nucleus(probs, settings.top_p)


def _nucleus(probs: torch.Tensor, top_p: float) -> torch.Tensor:
    """The smallest set of likeliest tokens that holds `top_p`, renormalised (top-p sampling)."""
    candidates = min(NUCLEUS_TRY, probs.shape[1])
    columns = top_columns(probs, candidates)
    if (probs.gather(1, columns).sum(dim=-1) < top_p).any():
        columns = probs.argsort(dim=-1, descending=True, stable=True)
    ranked = probs.gather(1, columns)
    before = ranked.cumsum(dim=-1, dtype=torch.float64) - ranked  # mass of the likelier tokens
    ranked = torch.where(before < top_p, ranked, 0.0)
    ranked = ranked / ranked.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter_(1, columns, ranked)


class Draws:
    """One token per absolute position, by inverting the cumulative distribution at u(position)."""

    def __init__(self, seed: int, positions: int) -> None:
        self._uniform = np.random.default_rng(seed).random(positions)

    def __call__(self, probs: torch.Tensor, position: int) -> int:
        """A token drawn from probs [V] for the given absolute position."""
        cumulative = probs.double().cumsum(dim=-1)
        threshold = self._uniform[position] * cumulative[-1]
        # right=True: the first token whose cumulative mass exceeds u, never one of mass 0
        return int(torch.searchsorted(cumulative, threshold, right=True))


Draw = Callable[[torch.Tensor, int], int]
