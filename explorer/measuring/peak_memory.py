"""The most memory that was in use: a GPU's own count, or the process's on a CPU."""

from __future__ import annotations

import resource
import sys

import torch

from explorer.records.peak_memory import PeakMemory


def forget_peak(device: torch.device) -> None:
    """Start counting from zero, where the device can."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)


def peak_memory(device: torch.device) -> PeakMemory:
    """The most since `forget_peak`; on a CPU since the process started."""
    if device.type == "cuda":
        most = torch.cuda.max_memory_allocated(device)
        return PeakMemory(bytes=most, of="tensors on the GPU")
    unit = 1 if sys.platform == "darwin" else 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return PeakMemory(bytes=most, of="the whole process on a CPU")
