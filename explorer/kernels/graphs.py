"""Work of fixed shapes, recorded once and replayed: CUDA graphs, and one copy to the host.

On a GPU an eager pass of a quantised model is a thousand launches from Python, which take longer
than the work. A graph is launched as a whole. What it reads and writes stays at fixed addresses,
so everything that changes from step to step is written into buffers before it is replayed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import torch
from torch import Tensor

T = TypeVar("T")
Work = Callable[[], Tensor]
WARM_UPS = 2  # runs before the recording: libraries choose kernels and allocate workspaces


class Recorder(Protocol):
    """Turns work into a replay of it: the same operations on the same addresses."""

    def record(self, work: Callable[[], T]) -> Callable[[], T]:
        """The replay, which returns the same tensors each time. Raises what the device raises."""
        ...


class CudaGraphs:
    """Records CUDA graphs, which share one pool of memory, since only one runs at a time.

    So any of them may overwrite what another returned: take a copy before the next one runs.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._pool = torch.cuda.graph_pool_handle()

    def record(self, work: Callable[[], T]) -> Callable[[], T]:
        """See Recorder."""
        with torch.cuda.device(self._device):
            aside = torch.cuda.Stream()
            aside.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(aside):
                for _ in range(WARM_UPS):
                    work()
            torch.cuda.current_stream().wait_stream(aside)
            graph = torch.cuda.CUDAGraph()
            # thread_local: what a page's other threads do on the device cannot break it.
            with torch.cuda.graph(graph, pool=self._pool, capture_error_mode="thread_local"):
                out = work()

        def replay() -> T:
            graph.replay()
            return out

        return replay


class Recordings:
    """Records work where there is a recorder, and gives it up for good where that fails.

    `why_not` says why work runs as it is; `seconds` is how long recording took so far, which
    belongs to no step.
    """

    def __init__(self, recorder: Recorder | None, why_not: str | None = None) -> None:
        self._recorder = recorder
        self.why_not = why_not
        self.count = 0
        self.seconds = 0.0

    def of(self, work: Callable[[], T]) -> Callable[[], T]:
        """A replay of the work, or the work itself. Raises only torch.OutOfMemoryError."""
        if self._recorder is None:
            return work
        start = time.perf_counter()
        try:
            replay = self._recorder.record(work)
        except torch.OutOfMemoryError:
            raise
        except Exception as error:  # any operation that cannot be recorded: a sync, a host copy
            self._recorder = None
            lines = str(error).strip().splitlines()
            self.why_not = f"{type(error).__name__}: {lines[0][:120] if lines else 'no details'}"
            return work
        finally:
            self.seconds += time.perf_counter() - start
        self.count += 1
        return replay

    @property
    def active(self) -> bool:
        """Whether work is recorded."""
        return self._recorder is not None


def to_host(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The same tensors on the CPU, in one copy: one wait for the device however many there are."""
    parts = [tensor.contiguous().view(-1).view(torch.uint8) for tensor in tensors]
    whole = torch.cat(parts).cpu()
    pieces = whole.split([part.numel() for part in parts])
    return [
        # A clone is aligned, which a piece of the whole need not be.
        piece.clone().view(tensor.dtype).view(tensor.shape)
        for piece, tensor in zip(pieces, tensors, strict=True)
    ]
