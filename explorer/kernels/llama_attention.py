"""Attention in the compiled pass: keys and values into the cache, scores, softmax, mix.

The cache holds fp16 numbers in blocks (kernels/attend.py). A row sees the whole prefix, and of the
rows of its own pass those that `visible` names.
"""

from __future__ import annotations

import numba
import numpy as np

from explorer.kernels.attend import SLOTS
from explorer.kernels.compiled import exp32, flags_at, floats, largest
from explorer.kernels.dot import GROUP, RECORD
from explorer.kernels.products import call, put_half, put_halves
from explorer.kernels.quantise import quantise_group
from explorer.kernels.team import take, take_next

LARGEST_HALF = np.float32(65504.0)


@numba.njit(cache=True, error_model="numpy")
def keys_of(p, index):
    """The address of a layer's keys."""
    return p.keys + 2 * p.kv_heads * p.head_size * p.capacity * index


@numba.njit(cache=True, error_model="numpy")
def values_of(p, index):
    """The address of a layer's values."""
    return p.values + 2 * p.kv_heads * p.head_size * p.capacity * index


@numba.njit(cache=True, error_model="numpy")
def store_key(p, keys, kv, slot, x):
    """Put x [head_size] into a slot of a key-value head, as fp16."""
    block = keys + 2 * SLOTS * p.head_size * (kv * (p.capacity // SLOTS) + slot // SLOTS)
    for d in range(p.head_size):
        put_half(
            block + 2 * (SLOTS * d + slot % SLOTS), min(max(x[d], -LARGEST_HALF), LARGEST_HALF)
        )


@numba.njit(cache=True, error_model="numpy")
def store_value(p, values, kv, slot, x, address):
    """The same of a value; x, at `address`, is kept within fp16's range first."""
    for d in range(p.head_size):
        x[d] = min(max(x[d], -LARGEST_HALF), LARGEST_HALF)
    blocks = p.head_size // SLOTS
    for b in range(blocks):
        place = values + 2 * SLOTS * ((kv * blocks + b) * p.capacity + slot)
        put_halves(place, address + 4 * SLOTS * b)


@numba.njit(cache=True, error_model="numpy")
def attend(p, phase, index, thread):
    """records = quantised attention, for a few queries of a key-value head at a time."""
    queries = p.n * (p.heads // p.kv_heads)
    chunks = -(-queries // p.together)
    scores = p.scratch + 4 * p.scratch_size * thread
    mixed = scores + 4 * p.score_slots * p.together
    items = p.kv_heads * chunks
    item = take(p.team, phase, items)
    while item >= 0:
        kv, first = item // chunks, p.together * (item % chunks)
        count = min(p.together, queries - first)
        _score(p, keys_of(p, index), kv, first, count, scores)
        _soften(p, first, count, scores)
        _mix(p, values_of(p, index), kv, count, scores, mixed)
        _quantise(p, kv * (p.heads // p.kv_heads), first, count, mixed)
        item = take_next(p.team, phase, items)


@numba.njit(cache=True, error_model="numpy")
def _score(p, keys, kv, first, count, scores):
    """scores [count, score_slots] = query · key."""
    query = kv * p.n * (p.heads // p.kv_heads) + first
    call(
        p.score_kernel,
        p.projected + 4 * p.head_size * query,
        4 * p.head_size,
        count,
        keys + 2 * p.head_size * p.capacity * kv,
        p.head_size,
        p.score_slots // SLOTS,
        scores,
        4 * p.score_slots,
    )


@numba.njit(cache=True, error_model="numpy")
def _soften(p, first, count, scores):
    """scores = exp(score − max) where a row may see the slot, 0 elsewhere."""
    for q in range(count):
        row, visible = scores + 4 * p.score_slots * q, p.visible + p.n * ((first + q) % p.n)
        _softmax_numerators(
            floats(row, p.prefix),
            floats(row + 4 * p.prefix, p.n),
            numba.carray(flags_at(visible), p.n),
            p.scaling,
        )


@numba.njit(cache=True, error_model="numpy")
def _softmax_numerators(prefix, rows, visible, scaling):
    top = largest(prefix)
    for j in range(rows.size):
        if visible[j]:
            top = max(top, rows[j])
    for j in range(prefix.size):
        prefix[j] = exp32((prefix[j] - top) * scaling)
    for j in range(rows.size):
        rows[j] = exp32((rows[j] - top) * scaling) if visible[j] else np.float32(0.0)


@numba.njit(cache=True, error_model="numpy")
def _mix(p, values, kv, count, weights, mixed):
    """mixed [count, head_size] = Σ weight · value / Σ weight."""
    call(
        p.mix_kernel,
        weights,
        4 * p.score_slots,
        count,
        values + 2 * p.head_size * p.capacity * kv,
        2 * SLOTS * p.capacity,
        p.prefix + p.n,
        p.head_size // SLOTS,
        mixed,
    )


@numba.njit(cache=True, error_model="numpy")
def _quantise(p, first_head, first, count, mixed):
    """Query q of a key-value head is head first_head + q // n in row q % n."""
    parts = p.head_size // GROUP
    for q in range(count):
        head, row = first_head + (first + q) // p.n, (first + q) % p.n
        for part in range(parts):
            record = (row * p.heads + head) * parts + part
            numbers = mixed + 4 * (p.head_size * q + GROUP * part)
            quantise_group(numbers, p.records + RECORD * record)
