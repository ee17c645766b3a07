"""How fast this machine reads, copies and multiplies, with the threads of a forward pass."""

from __future__ import annotations

import time
from collections.abc import Callable
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


def measure_copy_bandwidth(device: torch.device, size: int | None = None) -> float:
    """GB/s, read and written together, of the fastest of several copies of one large buffer."""
    size = (size or (GPU_BYTES if device.type == "cuda" else BYTES)) // 2
    source = torch.ones(size // 8, dtype=torch.int64, device=device)
    target = torch.empty_like(source)
    return 2 * source.nbytes / _fastest(lambda: target.copy_(source), device) / 1e9


MATRIX = {"cpu": 1024, "cuda": 8192}  # rows and columns of the matrices that are multiplied


def measure_matmul_rate(device: torch.device, dtype: torch.dtype, size: int | None = None) -> float:
    """TFLOP/s (10¹² operations a second) of the fastest of several products of square matrices."""
    size = size or MATRIX[device.type]
    a, b = (torch.rand(size, size, dtype=dtype, device=device) for _ in range(2))
    return 2 * size**3 / _fastest(lambda: a @ b, device) / 1e12


def _fastest(work: Callable[[], torch.Tensor], device: torch.device) -> float:
    """Seconds of the fastest of several rounds, after one that warms up."""
    seconds = []
    for _ in range(ROUNDS + 1):
        start = time.perf_counter()
        work()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        seconds.append(time.perf_counter() - start)
    return min(seconds[1:])


@cache
def matmul_rate(device: torch.device, dtype: torch.dtype) -> float:
    """The same, measured once in a process."""
    return measure_matmul_rate(device, dtype)
