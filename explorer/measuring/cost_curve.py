"""Measures C(n): the cost of a verify pass over n rows, in one-row passes, on this machine.

Speculation pays where C(n) stays near 1. It depends on the backend, the device and the length of
the context, so it is measured: LM head included, every width interleaved with one-row passes so
that a drift of the machine's speed, or another program, affects all widths equally.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch

from explorer.analysis.cost_curve import CostCurve
from explorer.decoding.cache import AnyCache, KVCache
from explorer.decoding.loop import prefill
from explorer.decoding.tree import rows_of

if TYPE_CHECKING:
    from explorer.models.base import LanguageModel

WIDTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
BRANCHING = 3  # of the tree that is timed


@torch.inference_mode()
def measure_cost_curve(
    model: LanguageModel,
    widths: Sequence[int] = WIDTHS,
    context_length: int = 128,
    rounds: int = 5,
) -> CostCurve:
    """Time passes of all `widths` after a context of `context_length` tokens.

    Uses its own cache and does not change the model.
    """
    cache = filled_cache(model, context_length)
    times = InterleavedTimes(widths)
    passes = {n: tree_rows(n) for n in times.widths}

    def pass_of(n: int) -> float:
        return time_pass(model, cache, *passes[n])

    for n in times.widths:  # warm up: compile, allocate, fill the caches of the CPU
        pass_of(n)
    for _ in range(rounds):
        times.take_round(pass_of)
    return times.curve(context_length)


class InterleavedTimes:
    """Times of passes of several widths, each wide one between two one-row passes."""

    def __init__(self, widths: Sequence[int]) -> None:
        self.widths = sorted({1, *widths})
        self.rounds = 0
        self._times: dict[int, list[float]] = {n: [] for n in self.widths}
        self._ratios: dict[int, list[float]] = {n: [] for n in self.widths}

    def take_round(self, time_pass: Callable[[int], float]) -> None:
        """Time every width once more; `time_pass(n)` gives the milliseconds of one pass."""
        self.rounds += 1
        before = time_pass(1)
        self._times[1].append(before)
        self._ratios[1].append(1.0)
        for n in self.widths[1:]:
            wide = time_pass(n)
            after = time_pass(1)
            self._times[n].append(wide)
            self._times[1].append(after)
            self._ratios[n].append(2 * wide / (before + after))
            before = after

    def curve(self, context_length: int) -> CostCurve:
        """The medians over the rounds taken so far, at least one."""
        return CostCurve(
            context_length=context_length,
            rounds=self.rounds,
            one_row_ms=statistics.median(self._times[1]),
            rows=self.widths,
            milliseconds=[statistics.median(self._times[n]) for n in self.widths],
            ratios=[statistics.median(self._ratios[n]) for n in self.widths],
        )


@torch.inference_mode()
def filled_cache(model: LanguageModel, length: int) -> AnyCache:
    """A cache with `length` committed rows of arbitrary text."""
    cache = KVCache.of(model)
    if length:
        tokens = torch.arange(length) * 7 % model.vocab_size
        prefill(model, tokens.tolist(), cache)
    return cache


def tree_rows(n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Depths [n] and mask [n, n] of a tree of n rows in which every node has three children."""
    return rows_of([-1, *((row - 1) // BRANCHING for row in range(1, n))])


def time_pass(
    model: LanguageModel, cache: AnyCache, depths: torch.Tensor, mask: torch.Tensor
) -> float:
    """Milliseconds of one verify pass, LM head included. The cache does not change."""
    tokens = torch.arange(len(depths)) % model.vocab_size
    model.synchronise()
    start = time.perf_counter()
    model.logits(model.forward(tokens, depths, mask, cache))
    model.synchronise()
    elapsed = (time.perf_counter() - start) * 1000
    cache.commit([])
    return elapsed
