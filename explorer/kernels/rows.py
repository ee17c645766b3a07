"""What is asked of rows of logits at every step, compiled: a step is too short for small change."""

from __future__ import annotations

import numba
import numpy as np
import torch


def argmax_rows(logits: torch.Tensor) -> list[int]:
    """The column of the largest of every row of [n, V]; of equal ones the first."""
    if logits.device.type != "cpu" or logits.dtype != torch.float32:
        return logits.argmax(dim=-1).tolist()
    return _argmax(logits.contiguous().numpy()).tolist()


# A maximum is the same in any order, so this loop may be reordered.
@numba.njit("float32(float32[::1])", cache=True, nogil=True, fastmath={"nnan", "nsz", "reassoc"})
def _largest(row):
    top = row[0]
    for value in row:
        top = max(top, value)
    return top


@numba.njit("int64[:](float32[:, ::1])", cache=True, nogil=True)
def _argmax(logits):
    columns = np.zeros(logits.shape[0], np.int64)
    for i in range(logits.shape[0]):
        top = _largest(logits[i])
        for j in range(logits.shape[1]):
            if logits[i, j] == top:
                columns[i] = j
                break
    return columns
