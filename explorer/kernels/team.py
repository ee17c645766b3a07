"""Threads share the phases of a pass by taking items; none waits for an idle thread.

A phase is a number of items. A thread takes one after the other until none is left, and then waits
until all of them are *done*. So a thread that the operating system has put aside holds nobody up
unless it has an item in hand, and one that comes back late finds the phases done and catches up.
While it waits, a thread soon lets others run: on a machine that is busy otherwise, the one that it
waits for may need the very core that it waits on.

A team is [spare, of a function that yields, threads that joined, then two counters a phase: items
taken, items done], int64, on cache lines of its own.
"""

from __future__ import annotations

import ctypes
from functools import cache

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from explorer.kernels.building import I64, at

HEADER = 8  # numbers before the counters: one cache line
YIELD, JOINED = 1, 2
PATIENCE = 2000  # looks at a counter before the core is offered to others: microseconds


def new_team(phases: int) -> np.ndarray:
    """The numbers of a team, before it runs."""
    team = np.zeros(HEADER + 2 * phases, np.int64)
    team[YIELD] = _yield_address()
    return team


def reset(team: np.ndarray) -> None:
    """Make a team ready to run again."""
    team[JOINED] = 0
    team[HEADER:] = 0


@cache
def _yield_address() -> int:
    """Of the C library's sched_yield; 0 where there is none."""
    try:
        function = ctypes.CDLL(None).sched_yield
    except (AttributeError, OSError, TypeError):  # not a POSIX system
        return 0
    return ctypes.cast(function, ctypes.c_void_p).value


@intrinsic
def _add(_, address, number):
    """Add to the int64 at an address, atomically; returns what it was."""

    def generate(context, builder, signature, arguments):
        address, number = arguments
        return builder.atomic_rmw("add", at(builder, address, 0, I64), number, "acq_rel")

    return types.int64(types.int64, types.int64), generate


@intrinsic
def _look(_, address):
    """The int64 at an address, as other threads have left it."""

    def generate(context, builder, signature, arguments):
        return builder.load_atomic(at(builder, arguments[0], 0, I64), "acquire", 8)

    return types.int64(types.int64), generate


@intrinsic
def _call(_, address):
    """Call the function void(void) at an address."""

    def generate(context, builder, signature, arguments):
        kind = ir.FunctionType(ir.VoidType(), [])
        builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), [])
        return context.get_dummy_value()

    return types.void(types.int64), generate


@numba.njit(cache=True, error_model="numpy")
def join(team):
    """Each thread's number, from 0. `team` is the address of a team's numbers."""
    return _add(team + 8 * JOINED, 1)


@numba.njit(cache=True, error_model="numpy")
def take(team, phase, items):
    """The next item of a phase of that many. −1: all are done, the next phase may begin."""
    taken = team + 8 * (HEADER + 2 * phase)
    item = _add(taken, 1)
    if item < items:
        return item
    _wait_until(team, taken + 8, items)
    return -1


@numba.njit(cache=True, error_model="numpy")
def take_next(team, phase, items):
    """The item in hand is done: `take` the next."""
    _add(team + 8 * (HEADER + 2 * phase) + 8, 1)
    return take(team, phase, items)


@numba.njit(cache=True, error_model="numpy")
def _wait_until(team, counter, items):
    looks = 0
    while _look(counter) < items:
        looks += 1
        if looks > PATIENCE and _look(team + 8 * YIELD) != 0:
            _call(_look(team + 8 * YIELD))
