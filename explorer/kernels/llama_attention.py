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
SCORE_BLOCKS = 4  # blocks of slots that a thread takes at a time


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
def score(p, phase, index):
    """scores = query · key, for a few blocks of slots of a key-value head at a time."""
    blocks, queries = p.score_slots // SLOTS, p.n * (p.heads // p.kv_heads)
    chunks = -(-blocks // SCORE_BLOCKS)
    items = chunks * p.kv_heads
    item = take(p.team, phase, items)
    while item >= 0:
        kv, first = item // chunks, SCORE_BLOCKS * (item % chunks)
        for block in range(first, min(first + SCORE_BLOCKS, blocks)):
            keys = 2 * SLOTS * p.head_size * (kv * (p.capacity // SLOTS) + block)
            call(
                p.score_kernel,
                p.projected + 4 * p.head_size * queries * kv,
                4 * p.head_size,
                queries,
                keys_of(p, index) + keys,
                p.head_size,
                p.scores + 4 * (p.score_slots * queries * kv + SLOTS * block),
                4 * p.score_slots,
                0,
            )
        item = take_next(p.team, phase, items)


@numba.njit(cache=True, error_model="numpy")
def soften(p, phase):
    """scores = exp(score − max) where a row may see the slot, 0 elsewhere."""
    visible = numba.carray(flags_at(p.visible), (p.n, p.n))
    items = p.heads * p.n
    item = take(p.team, phase, items)
    while item >= 0:
        row = floats(p.scores + 4 * p.score_slots * item, p.score_slots)
        _softmax_numerators(
            row[: p.prefix], row[p.prefix : p.prefix + p.n], visible[item % p.n], p.scaling
        )
        item = take_next(p.team, phase, items)


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
def mix(p, phase, index):
    """records = quantised Σ weight · value, 32 features of a key-value head at a time."""
    group, parts = p.heads // p.kv_heads, p.head_size // GROUP
    queries, slots = p.n * group, p.prefix + p.n
    items = p.kv_heads * parts
    item = take(p.team, phase, items)
    while item >= 0:
        kv, part = item // parts, item % parts
        out = p.mixed + 4 * p.head_size * queries * kv + 4 * GROUP * part
        for block in range(GROUP // SLOTS):
            feature = kv * (p.head_size // SLOTS) + part * (GROUP // SLOTS) + block
            call(
                p.mix_kernel,
                p.scores + 4 * p.score_slots * queries * kv,
                4 * p.score_slots,
                queries,
                values_of(p, index) + 2 * SLOTS * p.capacity * feature,
                slots,
                out + 4 * SLOTS * block,
                4 * p.head_size,
                0,
            )
        for q in range(queries):
            head = kv * group + q // p.n
            record = (q % p.n * p.heads + head) * parts + part
            quantise_group(out + 4 * p.head_size * q, p.records + RECORD * record)
        item = take_next(p.team, phase, items)
