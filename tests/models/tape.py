"""What a CUDA graph does, on a CPU: the operations of one run, done again at the same addresses."""

from __future__ import annotations

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Tape(TorchDispatchMode):
    """Takes down every operation with the tensors that it read and wrote.

    As under a capture, whatever is not a tensor is fixed for good, and an operation that hands a
    number to Python is an error: on a GPU it would wait for the device.
    """

    def __init__(self):
        super().__init__()
        self.operations = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is torch.ops.aten._local_scalar_dense.default:
            raise RuntimeError("operation not permitted when stream is capturing")
        out = func(*args, **(kwargs or {}))
        self.operations.append((func, args, kwargs or {}, out))
        return out

    def replay(self):
        for func, args, kwargs, out in self.operations:
            again = func(*args, **kwargs)
            for old, new in zip(tree_leaves(out), tree_leaves(again), strict=True):
                if isinstance(old, torch.Tensor) and old.data_ptr() != new.data_ptr():
                    old.copy_(new)


class TapeRecorder:
    """A kernels.graphs.Recorder whose graphs are tapes."""

    tape = Tape

    def record(self, work):
        with Tape() as tape:
            out = work()

        def replay():
            tape.replay()
            return out

        return replay
