"""A compiled function on the very threads that torch's own kernels run on.

A second pool of threads would fight torch's for the cores, since both spin while they wait. So the
function is handed to the OpenMP runtime that came with torch, where that is GNU's; elsewhere it
runs on the calling thread alone.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

import torch

TASK = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)


@cache
def _runtime() -> ctypes.PyDLL | None:
    """torch's libgomp, if it has one. Its calls are short, so the interpreter stays locked."""
    found = sorted((Path(torch.__file__).parent / "lib").glob("libgomp*.so*"))
    if not found:
        return None
    library = ctypes.PyDLL(str(found[0]))
    library.GOMP_parallel.restype = None
    library.GOMP_parallel.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_uint] * 2
    return library


def team_size() -> int:
    """How many threads `on_all_threads` calls a function on.

    As many as torch uses: a team of another size would be set up again at every call.
    """
    return 1 if _runtime() is None else torch.get_num_threads()


def on_all_threads(task: int, data: int) -> None:
    """Call the function at address `task`, void(void *), with the address `data` on every thread.

    It returns when all have returned. They must share out the work between them.
    """
    threads = team_size()
    if threads == 1:
        TASK(task)(data)
    else:
        _runtime().GOMP_parallel(task, data, threads, 0)
