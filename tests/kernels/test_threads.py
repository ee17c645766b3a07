"""Compiled work that is shared out between torch's threads."""

import ctypes

import numba
import pytest
import torch
from numba import types

from explorer.kernels import threads
from explorer.kernels.compiled import claim

ITEMS = 10_000


@numba.cfunc(types.void(types.CPointer(types.int64)))
def mark(call):
    """Count each claimed item once, in the numbers behind the counter."""
    counts = numba.carray(call, ITEMS + 1)
    item = claim(counts)
    while item < ITEMS:
        counts[1 + item] += 1
        item = claim(counts)


@pytest.mark.parametrize("count", [1, 2])
def test_every_item_is_done_exactly_once(count):
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        for _ in range(20):
            data = (ctypes.c_int64 * (ITEMS + 1))()
            threads.on_all_threads(mark.address, data)
            assert set(data[1:]) == {1}
            # Each thread ends on a claim that found nothing.
            assert data[0] in (ITEMS + 1, ITEMS + count)
    finally:
        torch.set_num_threads(before)


def test_without_the_runtime_the_calling_thread_does_it_all(monkeypatch):
    monkeypatch.setattr(threads, "_runtime", lambda: None)
    data = (ctypes.c_int64 * (ITEMS + 1))()
    threads.on_all_threads(mark.address, data)
    assert set(data[1:]) == {1}
    assert data[0] == ITEMS + 1
