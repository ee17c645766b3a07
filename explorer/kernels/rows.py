"""What is asked of rows of logits at every step, compiled: a step is too short for small change."""

from __future__ import annotations

import numba
import numpy as np
import torch

from explorer.kernels.compiled import exp32, largest

PART = 1024  # columns whose maximum is taken before one of them is looked for
SEARCHED = 256  # columns whose maximum is looked at before they are


def argmax_rows(logits: torch.Tensor) -> list[int]:
    """The column of the largest of every row of [n, V]; of equal ones the first."""
    if logits.device.type != "cpu" or logits.dtype != torch.float32:
        return logits.argmax(dim=-1).tolist()
    return _argmax(logits.contiguous().numpy()).tolist()


@numba.njit("int64[:](float32[:, ::1])", cache=True, nogil=True, error_model="numpy")
def _argmax(logits):
    columns = np.zeros(logits.shape[0], np.int64)
    for i in range(logits.shape[0]):
        row = logits[i]
        first, top = 0, largest(row[:PART])
        for start in range(PART, row.size, PART):
            here = largest(row[start : start + PART])
            if here > top:
                first, top = start, here
        for j in range(first, row.size):
            if row[j] == top:
                columns[i] = j
                break
    return columns


@numba.njit(cache=True, error_model="numpy", fastmath={"reassoc", "nsz", "contract"})
def total_of(numbers, top):
    """Σ exp(number − top)."""
    total = np.float32(0.0)
    for i in range(numbers.size):
        total += exp32(numbers[i] - top)
    return total


@numba.njit(cache=True, error_model="numpy")
def best_of(logits, ids, values):
    """The columns of the largest of `logits`, best first, and them; of equal ones the first."""
    top, found = ids.size, 0
    least = np.float32(-np.inf)
    for first in range(0, logits.size, SEARCHED):
        part = logits[first : first + SEARCHED]
        if found == top and largest(part) <= least:
            continue
        for j in range(part.size):
            if found == top and part[j] <= least:
                continue
            place = min(found, top - 1)
            while place > 0 and values[place - 1] < part[j]:
                values[place], ids[place] = values[place - 1], ids[place - 1]
                place -= 1
            values[place], ids[place] = part[j], first + j
            found = min(found + 1, top)
            least = values[top - 1] if found == top else least


@numba.njit(cache=True, error_model="numpy")
def to_probs(best, total):
    """The softmax of the best logits of a row, in their place; `total` is the row's total_of."""
    top = best[0]
    for i in range(best.size):
        best[i] = exp32(best[i] - top) / total
