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

import ctypes

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic

from explorer.kernels.attend import SLOTS
from explorer.kernels.compiled import (
    exp32,
    flags_at,
    float_of_bits,
    floats,
    halves_at,
    int64_fields,
    largest,
    pointer,
    silu,
    whole_at,
)
from explorer.kernels.dot import GROUP, RECORD
from explorer.kernels.products import call, put_half, put_halves
from explorer.kernels.quantise import quantise_group, quantise_row
from explorer.kernels.team import join, take, take_next

PHASES = 9  # of a layer
LARGEST_HALF = np.float32(65504.0)
CHUNK = 4  # tiles that a thread takes at a time
SCORE_BLOCKS = 4  # blocks of slots, likewise

MATRICES = ("query", "key", "value", "output", "gate", "up", "down")

# One layer. A matrix is the address of its first tile, and its bits.
LAYER = np.dtype(
    [(name, np.int64) for matrix in MATRICES for name in (matrix, f"{matrix}_bits")]
    + [(name, np.int64) for name in ("input_norm", "mlp_norm")]
)


class Pass(ctypes.Structure):
    """Addresses and sizes of a pass over n rows behind `prefix` cached tokens.

    num_layers, layers   how many, and the address of their LAYER records
    lanes                of the matrices' tiles (kernels/isa.py)
    hidden … inner       the network's sizes; `inner` is SwiGLU's
    epsilon, scaling     of the norms, and of query · key
    embedding            [V, hidden] bf16
    cos, sin             [positions, head_size / 2]
    final_norm           [hidden]
    tokens, offsets      [n] int64; a row's position is prefix + offset
    visible              [n, n] bool
    keys, values         the cache (kernels/llama_cache.py), with room for `capacity` slots
    x, out               [n, hidden]: the residual stream; the hidden states
    records              [n, hidden or heads · head_size]: the quantised input of a product
    inner_records        [n, inner]
    projected            [heads + 2 kv_heads, n, head_size]
    scores               [heads, n, score_slots]: then the softmax numerators; score_slots is
                         prefix + n, rounded up to whole blocks
    mixed                [heads, n, head_size]
    scratch              [threads, scratch_size]
    team                 kernels/team.py
    tile_into …          addresses of kernels (kernels/products.py)
    """

    _fields_ = [
        *int64_fields(
            "num_layers layers lanes hidden heads kv_heads head_size inner embedding "
            "cos sin final_norm n prefix tokens offsets visible keys values capacity "
            "x out records inner_records projected scores score_slots mixed scratch "
            "scratch_size team tile_into tile_onto score_kernel mix_kernel"
        ),
        ("epsilon", ctypes.c_float),
        ("scaling", ctypes.c_float),
    ]


PASS_TYPE, LAYER_TYPE = numba.from_dtype(np.dtype(Pass)), numba.from_dtype(LAYER)


@intrinsic
def layers_at(_, address):
    """An address as a pointer to LAYER records."""
    return pointer(address, LAYER_TYPE)


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
def _keys(p, index):
    """The address of a layer's keys."""
    return p.keys + 2 * p.kv_heads * p.head_size * p.capacity * index


@numba.njit(cache=True, error_model="numpy")
def _values(p, index):
    """The address of a layer's values."""
    return p.values + 2 * p.kv_heads * p.head_size * p.capacity * index


@numba.njit(cache=True, error_model="numpy")
def _store_key(p, keys, kv, slot, x):
    block = keys + 2 * SLOTS * p.head_size * (kv * (p.capacity // SLOTS) + slot // SLOTS)
    for d in range(p.head_size):
        put_half(
            block + 2 * (SLOTS * d + slot % SLOTS), min(max(x[d], -LARGEST_HALF), LARGEST_HALF)
        )


@numba.njit(cache=True, error_model="numpy")
def _store_value(p, values, kv, slot, x, address):
    for d in range(p.head_size):
        x[d] = min(max(x[d], -LARGEST_HALF), LARGEST_HALF)
    blocks = p.head_size // SLOTS
    for b in range(blocks):
        place = values + 2 * SLOTS * ((kv * blocks + b) * p.capacity + slot)
        put_halves(place, address + 4 * SLOTS * b)


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
                _store_value(p, _values(p, index), kv, p.prefix + row, x, place)
                continue
            _rotate(p, x, p.prefix + offsets[row])
            if item >= p.heads:
                _store_key(p, _keys(p, index), kv, p.prefix + row, x)
        item = take_next(p.team, phase, items)


@numba.njit(cache=True, error_model="numpy")
def _score(p, phase, index):
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
                _keys(p, index) + keys,
                p.head_size,
                p.scores + 4 * (p.score_slots * queries * kv + SLOTS * block),
                4 * p.score_slots,
                0,
            )
        item = take_next(p.team, phase, items)


@numba.njit(cache=True, error_model="numpy")
def _soften(p, phase):
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
def _mix(p, phase, index):
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
                _values(p, index) + 2 * SLOTS * p.capacity * feature,
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
    _score(p, phase + 2, index)
    _soften(p, phase + 3)
    _mix(p, phase + 4, index)
    _multiply_onto(p, phase + 5, layer.output, layer.output_bits, p.records, p.heads * p.head_size)
    _normalise(p, phase + 6, layer.mlp_norm, thread)
    _gate_and_up(p, phase + 7, layer, thread)
    _multiply_onto(p, phase + 8, layer.down, layer.down_bits, p.inner_records, p.inner)


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
