"""The read bandwidth of this machine's memory, with the threads of a forward pass."""

from __future__ import annotations

import time
from functools import cache

import torch

BYTES = 256 << 20  # many times the last-level cache of most processors
GPU_BYTES = 2 << 30  # a GPU reads 256 MB before its clock has settled
ROUNDS = 8


def measure_read_bandwidth(device: torch.device, size: int | None = None) -> float:
    """GB/s (10⁹ bytes) of the fastest of several rounds that each read one large buffer.

    A round is torch's sum of 64-bit integers: one addition for eight bytes, which takes no
    processor longer than reading them. The best round counts, since disturbances only slow a
    round down.
    """
    size = size or (GPU_BYTES if device.type == "cuda" else BYTES)
    # Ones, written: pages that were never written may not be read from memory.
    buffer = torch.ones(size // 8, dtype=torch.int64, device=device)
    return buffer.nbytes / min(_seconds(buffer) for _ in range(ROUNDS)) / 1e9


def _seconds(buffer: torch.Tensor) -> float:
    start = time.perf_counter()
    buffer.sum().item()  # item() waits for a GPU
    return time.perf_counter() - start


@cache
def read_bandwidth(device: torch.device) -> float:
    """The same, measured once in a process."""
    return measure_read_bandwidth(device)
