"""What is asked of rows of logits at every step, compiled: a step is too short for small change."""

from __future__ import annotations

import numba
import numpy as np
import torch

from explorer.kernels.compiled import largest

PART = 1024  # columns whose maximum is taken before one of them is looked for


def argmax_rows(logits: torch.Tensor) -> list[int]:
    """The column of the largest of every row of [n, V]; of equal ones the first."""
    if logits.device.type != "cpu" or logits.dtype != torch.float32:
        return logits.argmax(dim=-1).tolist()
    return _argmax(logits.contiguous().numpy()).tolist()


@numba.njit("int64[:](float32[:, ::1])", cache=True, nogil=True)
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
