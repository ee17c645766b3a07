"""What a record keeps of rows of logits, in one compiled call: the best, and what some tokens got.

A row has tens of thousands of logits, so they are read while they are still in the cache, once.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import numba
import numpy as np
import torch
from numba import types

from explorer.kernels.compiled import exp32, floats, int64_fields, whole_at
from explorer.kernels.rows import best_of, to_probs, total_of
from explorer.kernels.team import join, new_team, take, take_next
from explorer.kernels.threads import TASK, on_all_threads

FEW = 4  # rows: what one thread has just read, it reads again sooner than two can share it


class _Figures(ctypes.Structure):
    """The sizes of `row_figures`, and the addresses of its tensors."""

    _fields_ = int64_fields(
        "n width top asked logits rows tokens ids probs asked_probs asked_ranks team"
    )


_FIGURES = numba.from_dtype(np.dtype(_Figures))


@numba.njit(cache=True, error_model="numpy")
def _count_above(numbers, least):
    """How many numbers are larger than `least`."""
    count = np.int32(0)
    for i in range(numbers.size):
        count += np.int32(numbers[i] > least)
    return count


@numba.njit(cache=True, error_model="numpy")
def _figures_of_row(p, row):
    logits = floats(p.logits + 4 * p.width * row, p.width)
    probs = floats(p.probs + 4 * p.top * row, p.top)
    best_of(logits, numba.carray(whole_at(p.ids + 8 * p.top * row), p.top), probs)
    first, last = probs[0], probs[p.top - 1]
    total = total_of(logits, first)
    rows, tokens = (
        numba.carray(whole_at(p.rows), p.asked),
        numba.carray(whole_at(p.tokens), p.asked),
    )
    asked_probs = floats(p.asked_probs, p.asked)
    ranks = numba.carray(whole_at(p.asked_ranks), p.asked)
    for i in range(p.asked):
        if rows[i] == row:
            own = logits[tokens[i]]
            asked_probs[i] = exp32(own - first) / total
            # Most of what is asked for is among the best, which saves a look at all the others.
            ranks[i] = _count_above(probs if own >= last else logits, own)
    to_probs(probs, total)


@numba.cfunc(types.void(types.CPointer(_FIGURES)), cache=True)
def _run_alone(address):
    """All rows, on the thread that calls."""
    p = numba.carray(address, 1)[0]
    for row in range(p.n):
        _figures_of_row(p, row)


@numba.cfunc(types.void(types.CPointer(_FIGURES)), cache=True)
def _run_together(address):
    """Every thread calls it with the same _Figures."""
    p = numba.carray(address, 1)[0]
    join(p.team)
    row = take(p.team, 0, p.n)
    while row >= 0:
        _figures_of_row(p, row)
        row = take_next(p.team, 0, p.n)


@dataclass(frozen=True)
class RowFigures:
    """Of rows of logits: the best tokens, and what the rows give to tokens that were asked for.

    ids int64 and probs float32 [n, top], best first; asked_probs float32 and asked_ranks int64
    [a]: probability of each token asked for, and how many tokens its row puts before it.
    """

    ids: torch.Tensor
    probs: torch.Tensor
    asked_probs: torch.Tensor
    asked_ranks: torch.Tensor


def row_figures(
    logits: torch.Tensor, top: int, rows: torch.Tensor, tokens: torch.Tensor
) -> RowFigures:
    """The figures of logits [n, V] and of the tokens int64 [a] at rows int64 [a] of them.

    Probabilities are the softmax of the logits as they are.
    """
    top = min(top, logits.shape[1])
    if logits.device.type != "cpu" or logits.dtype != torch.float32:
        return _figures_by_torch(logits, top, rows, tokens)
    logits, rows, tokens = logits.contiguous(), rows.contiguous(), tokens.contiguous()
    n, width = logits.shape
    found = RowFigures(
        torch.empty(n, top, dtype=torch.int64),
        torch.empty(n, top),
        torch.empty(len(rows)),
        torch.empty(len(rows), dtype=torch.int64),
    )
    tensors = (logits, rows, tokens, found.ids, found.probs, found.asked_probs, found.asked_ranks)
    call = _Figures(n, width, top, len(rows), *(tensor.data_ptr() for tensor in tensors))
    if n <= FEW:
        TASK(_run_alone.address)(ctypes.addressof(call))
    else:
        team = new_team(1)
        call.team = team.ctypes.data
        on_all_threads(_run_together.address, ctypes.addressof(call))
    return found


def _figures_by_torch(
    logits: torch.Tensor, top: int, rows: torch.Tensor, tokens: torch.Tensor
) -> RowFigures:
    rows, tokens = rows.to(logits.device), tokens.to(logits.device)
    best, ids = logits.topk(top, dim=-1)
    total = torch.logsumexp(logits, dim=-1)
    own = logits[rows, tokens]
    found = (
        ids,
        (best - total[:, None]).exp().float(),
        (own - total[rows]).exp().float(),
        (logits[rows] > own[:, None]).sum(dim=-1),
    )
    return RowFigures(*(tensor.cpu() for tensor in found))
