"""One forward pass of a Llama-like network in one compiled call.

The layers are those of Llama (Touvron et al. 2023): RMSNorm, rotary positions, attention with
shared key-value heads, SwiGLU. `_layer` is the pass of one layer, in the order of the paper; each
line is a phase that the threads share out among themselves, and at the end of a phase they wait
for each other. Every number is float32 but the activations that enter a matrix product: these are
quantised to 8 bits, row by row (kernels/quantise.py).

No phase mixes rows, and every sum of a row runs in one fixed order (kernels/dot.py and
kernels/attention.py), so a row's result is the same bits in a pass of any width.
"""

from __future__ import annotations

import numba
import numpy as np
from numba import types

from explorer.kernels.compiled import float_of_bits, floats, halves_at, silu, whole_at
from explorer.kernels.dot import GROUP, RECORD
from explorer.kernels.llama_attention import (
    attend,
    keys_of,
    store_key,
    store_value,
    values_of,
)
from explorer.kernels.llama_call import PASS_TYPE, layers_at
from explorer.kernels.products import call
from explorer.kernels.quantise import quantise_group, quantise_row
from explorer.kernels.team import join, take, take_next

PHASES = 7  # of a layer
CHUNK = 4  # tiles that a thread takes at a time


# The length of a row is the same in every pass, so the order of this sum is, too.
@numba.njit(cache=True, error_model="numpy", fastmath={"reassoc", "nsz", "contract"})
def _mean_square(x):
    total = np.float32(0.0)
    for i in range(x.size):
        total += x[i] * x[i]
    return total / np.float32(x.size)


@numba.njit(cache=True, error_model="numpy")
def _rms_norm(x, weight, epsilon, y):
    scale = np.float32(1.0) / np.sqrt(_mean_square(x) + epsilon)
    for i in range(x.size):
        y[i] = weight[i] * (x[i] * scale)


@numba.njit(cache=True, error_model="numpy")
def _embed(p, phase):
    """x = the embeddings of the tokens."""
    tokens = numba.carray(whole_at(p.tokens), p.n)
    items = p.n
    row = take(p.team, phase, items)
    while row >= 0:
        embedding = numba.carray(halves_at(p.embedding + 2 * p.hidden * tokens[row]), p.hidden)
        x = floats(p.x + 4 * p.hidden * row, p.hidden)
        for i in range(p.hidden):
            x[i] = float_of_bits(np.int32(embedding[i]) << np.int32(16))
        row = take_next(p.team, phase, items)


@numba.njit(cache=True, error_model="numpy")
def _normalise(p, phase, weight, thread):
    """records = quantised RMSNorm(x)."""
    y = p.scratch + 4 * p.scratch_size * thread
    items = p.n
    row = take(p.team, phase, items)
    while row >= 0:
        x = floats(p.x + 4 * p.hidden * row, p.hidden)
        _rms_norm(x, floats(weight, p.hidden), p.epsilon, floats(y, p.hidden))
        quantise_row(y, p.hidden, p.records + p.hidden // GROUP * RECORD * row)
        row = take_next(p.team, phase, items)


@numba.njit(cache=True, error_model="numpy")
def _rotate(p, x, position):
    """Rotary positions (Su et al. 2021), in place, on the two halves of x [head_size]."""
    half = p.head_size // 2
    cos = floats(p.cos + 4 * half * position, half)
    sin = floats(p.sin + 4 * half * position, half)
    for d in range(half):
        a, b = x[d], x[half + d]
        x[d] = a * cos[d] - b * sin[d]
        x[half + d] = b * cos[d] + a * sin[d]


@numba.njit(cache=True, error_model="numpy")
def _tile_bytes(p, bits, groups):
    return groups * p.lanes * (GROUP * bits // 8 + (4 if bits == 4 else 2))


@numba.njit(cache=True, error_model="numpy")
def _project_head(p, weights, bits, head, out):
    """out [n, head_size] = the rows of head `head` of a matrix · records."""
    groups, tiles = p.hidden // GROUP, p.head_size // p.lanes
    size = _tile_bytes(p, bits, groups)
    for tile in range(tiles):
        place = weights + size * (head * tiles + tile)
        at = out + 4 * p.lanes * tile
        call(p.tile_into, bits, place, groups, p.records, groups * RECORD, p.n, at, 4 * p.head_size)


@numba.njit(cache=True, error_model="numpy")
def _project(p, phase, layer, index):
    """Queries, keys and values, head by head: rotated, and keys and values put into the cache."""
    offsets = numba.carray(whole_at(p.offsets), p.n)
    items = p.heads + 2 * p.kv_heads
    item = take(p.team, phase, items)
    while item >= 0:
        out = p.projected + 4 * p.head_size * p.n * item
        kv = (item - p.heads) % p.kv_heads
        if item < p.heads:
            _project_head(p, layer.query, layer.query_bits, item, out)
        elif item < p.heads + p.kv_heads:
            _project_head(p, layer.key, layer.key_bits, kv, out)
        else:
            _project_head(p, layer.value, layer.value_bits, kv, out)
        for row in range(p.n):
            place = out + 4 * p.head_size * row
            x = floats(place, p.head_size)
            if item >= p.heads + p.kv_heads:
                store_value(p, values_of(p, index), kv, p.prefix + row, x, place)
                continue
            _rotate(p, x, p.prefix + offsets[row])
            if item >= p.heads:
                store_key(p, keys_of(p, index), kv, p.prefix + row, x)
        item = take_next(p.team, phase, items)


@numba.njit(cache=True, error_model="numpy")
def _multiply_onto(p, phase, weights, bits, records, inputs):
    """x += a matrix · records."""
    groups, tiles = inputs // GROUP, p.hidden // p.lanes
    size = _tile_bytes(p, bits, groups)
    items = -(-tiles // CHUNK)
    item = take(p.team, phase, items)
    while item >= 0:
        for tile in range(CHUNK * item, min(CHUNK * item + CHUNK, tiles)):
            place = p.x + 4 * p.lanes * tile
            at = weights + size * tile
            call(p.tile_onto, bits, at, groups, records, groups * RECORD, p.n, place, 4 * p.hidden)
        item = take_next(p.team, phase, items)


@numba.njit(cache=True, error_model="numpy")
def _swiglu(gate, up):
    """gate = silu(gate) · up, in place."""
    for i in range(gate.size):
        gate[i] = silu(gate[i]) * up[i]


@numba.njit(cache=True, error_model="numpy")
def _gate_and_up(p, phase, layer, thread):
    """inner_records = quantised SwiGLU: silu(gate) · up, a group of 32 outputs at a time."""
    groups, tiles = p.hidden // GROUP, GROUP // p.lanes
    gate = p.scratch + 4 * p.scratch_size * thread
    up = gate + 4 * GROUP * p.n
    items = p.inner // GROUP
    item = take(p.team, phase, items)
    while item >= 0:
        for tile in range(tiles):
            at = tiles * item + tile
            for bits, weights, out in (
                (layer.gate_bits, layer.gate, gate),
                (layer.up_bits, layer.up, up),
            ):
                call(
                    p.tile_into,
                    bits,
                    weights + _tile_bytes(p, bits, groups) * at,
                    groups,
                    p.records,
                    groups * RECORD,
                    p.n,
                    out + 4 * p.lanes * tile,
                    4 * GROUP,
                )
        for row in range(p.n):
            here = gate + 4 * GROUP * row
            _swiglu(floats(here, GROUP), floats(up + 4 * GROUP * row, GROUP))
            quantise_group(here, p.inner_records + RECORD * (p.inner // GROUP * row + item))
        item = take_next(p.team, phase, items)


@numba.njit(cache=True, error_model="numpy")
def _layer(p, layer, index, thread):
    phase = 1 + PHASES * index  # the embedding came first
    _normalise(p, phase, layer.input_norm, thread)
    _project(p, phase + 1, layer, index)
    attend(p, phase + 2, index, thread)
    _multiply_onto(p, phase + 3, layer.output, layer.output_bits, p.records, p.heads * p.head_size)
    _normalise(p, phase + 4, layer.mlp_norm, thread)
    _gate_and_up(p, phase + 5, layer, thread)
    _multiply_onto(p, phase + 6, layer.down, layer.down_bits, p.inner_records, p.inner)


@numba.njit(cache=True, error_model="numpy")
def _final_norm(p, phase):
    """out = RMSNorm(x): the hidden states."""
    items = p.n
    row = take(p.team, phase, items)
    while row >= 0:
        x = floats(p.x + 4 * p.hidden * row, p.hidden)
        out = floats(p.out + 4 * p.hidden * row, p.hidden)
        _rms_norm(x, floats(p.final_norm, p.hidden), p.epsilon, out)
        row = take_next(p.team, phase, items)


@numba.cfunc(types.void(types.CPointer(PASS_TYPE)), cache=True)
def run_pass(address):
    """The whole pass; every thread calls it with the same PASS."""
    p = numba.carray(address, 1)[0]
    thread = join(p.team)
    _embed(p, 0)
    layers = numba.carray(layers_at(p.layers), p.num_layers)
    for i in range(p.num_layers):
        _layer(p, layers[i], i, thread)
    _final_norm(p, 1 + PHASES * p.num_layers)
