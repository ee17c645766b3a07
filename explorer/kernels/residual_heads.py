"""What Medusa and Hydra heads compute, in one compiled call: residual blocks, projection, best.

For every head k and row: x = s₀ + SiLU(Σ_t W_kt · s_t + b_k), where the sources s are the hidden
state and, for Hydra, the embeddings on the path; then for every further block x = x + SiLU(W · x +
b); then the projection that all heads share, and the best of its logits with their probabilities.
Rows that enter a product are quantised to 8 bits, all else is float32.
"""

from __future__ import annotations

import ctypes

import numba
import numpy as np
from numba import types

from explorer.kernels.compiled import (
    float_of_bits,
    floats,
    halves_at,
    int64_fields,
    silu,
    whole_at,
)
from explorer.kernels.dot import GROUP, RECORD
from explorer.kernels.products import call
from explorer.kernels.quantise import quantise_row
from explorer.kernels.rows import best_of, to_probs, total_of
from explorer.kernels.team import join, take, take_next

BITS = 4
TILE_BYTES = GROUP // 2 + 4  # of a group and an output: codes, scale, minimum
CHUNK = 16  # tiles of the projection that a thread takes at a time
BLOCK_CHUNK = 6  # tiles of a residual block, likewise


class Heads(ctypes.Structure):
    """Addresses and sizes; H heads, m rows, S sources, B blocks. All matrices are in 4 bits.

    matrices      [H, terms] addresses of tiles: head k's products with its sources
    terms         how many sources a head reads: the hidden state, then the first tokens of its path
    blocks        [H, B − 1] addresses of tiles
    biases        [H, B, hidden]
    projection    of the first tile
    states        [m, hidden] hidden states; `state_bytes` from one to the next, 0 if all share one
    path          [m, terms − 1] tokens: rows of `embedding`, bf16, to be multiplied by `scale`
    source_records, records  [terms · m] and [H · m] quantised rows
    x             [H · m, hidden]
    logits        [H · m, num_tiles · lanes], of which `width` columns count
    token_map     [width] the token of each column, int64; address 0: the column itself
    ids, probs    [m, H, top] int64 and float32
    scratch       [threads, scratch_size]
    team          of 2 · B + 3 phases
    """

    _fields_ = [
        *int64_fields(
            "heads rows hidden lanes num_blocks terms matrices blocks biases projection "
            "num_tiles width top states state_bytes path embedding source_records "
            "records x logits token_map ids probs scratch scratch_size team tile_into tile_onto"
        ),
        ("scale", ctypes.c_float),
    ]


HEADS_TYPE = numba.from_dtype(np.dtype(Heads))


@numba.njit(cache=True, error_model="numpy")
def _residual(x, source, y, bias):
    """x = source + silu(y + bias)."""
    for i in range(x.size):
        x[i] = source[i] + silu(y[i] + bias[i])


@numba.njit(cache=True, error_model="numpy")
def _embed(p, token, out):
    """out [hidden] = scale · the token's embedding."""
    embedding = numba.carray(halves_at(p.embedding + 2 * p.hidden * token), p.hidden)
    x = floats(out, p.hidden)
    for i in range(p.hidden):
        x[i] = p.scale * float_of_bits(np.int32(embedding[i]) << np.int32(16))


@numba.njit(cache=True, error_model="numpy")
def _quantise_sources(p, phase, thread):
    """source_records = the quantised hidden states and embeddings, term by term."""
    path = numba.carray(whole_at(p.path), (p.rows, p.terms - 1))
    embedded = p.scratch + 4 * p.scratch_size * thread
    items = p.terms * p.rows
    item = take(p.team, phase, items)
    while item >= 0:
        term, row = item // p.rows, item % p.rows
        into = p.source_records + p.hidden // GROUP * RECORD * item
        if term == 0:
            quantise_row(p.states + p.state_bytes * row, p.hidden, into)
        else:
            _embed(p, path[row, term - 1], embedded)
            quantise_row(embedded, p.hidden, into)
        item = take_next(p.team, phase, items)


@numba.njit(cache=True, error_model="numpy")
def _quantise(p, phase):
    """records = quantised x."""
    rows = p.heads * p.rows
    row = take(p.team, phase, rows)
    while row >= 0:
        into = p.records + p.hidden // GROUP * RECORD * row
        quantise_row(p.x + 4 * p.hidden * row, p.hidden, into)
        row = take_next(p.team, phase, rows)


@numba.njit(cache=True, error_model="numpy")
def _finish_tile(p, head, tile, block, y):
    """x = source + silu(y + bias) on a tile's outputs of all rows of a head."""
    first = p.lanes * tile
    bias = p.biases + 4 * (p.hidden * (p.num_blocks * head + block) + first)
    for row in range(p.rows):
        x = p.x + 4 * (p.hidden * (p.rows * head + row) + first)
        source = p.states + p.state_bytes * row + 4 * first if block == 0 else x
        _residual(
            floats(x, p.lanes),
            floats(source, p.lanes),
            floats(y + 4 * p.lanes * row, p.lanes),
            floats(bias, p.lanes),
        )


@numba.njit(cache=True, error_model="numpy")
def _first_product(p, head, tile, y):
    """A tile of Σ_t W_kt · s_t."""
    groups = p.hidden // GROUP
    row_bytes, tile_bytes = groups * RECORD, groups * p.lanes * TILE_BYTES
    matrices = numba.carray(whole_at(p.matrices), (p.heads, p.terms))
    for term in range(p.terms):
        at = matrices[head, term] + tile_bytes * tile
        rows = p.source_records + row_bytes * p.rows * term
        if term == 0:
            call(p.tile_into, BITS, at, groups, rows, row_bytes, p.rows, y, 4 * p.lanes)
        else:
            call(p.tile_onto, BITS, at, groups, rows, row_bytes, p.rows, y, 4 * p.lanes)


@numba.njit(cache=True, error_model="numpy")
def _further_product(p, head, tile, block, y):
    """A tile of W · x."""
    groups = p.hidden // GROUP
    row_bytes, tile_bytes = groups * RECORD, groups * p.lanes * TILE_BYTES
    blocks = numba.carray(whole_at(p.blocks), (p.heads, p.num_blocks - 1))
    at, rows = blocks[head, block - 1] + tile_bytes * tile, p.records + row_bytes * p.rows * head
    call(p.tile_into, BITS, at, groups, rows, row_bytes, p.rows, y, 4 * p.lanes)


@numba.njit(cache=True, error_model="numpy")
def _block(p, phase, block, thread):
    """A residual block of all heads, a few tiles of outputs at a time."""
    tiles = p.hidden // p.lanes
    chunks = -(-tiles // BLOCK_CHUNK)
    y = p.scratch + 4 * p.scratch_size * thread
    items = p.heads * chunks
    item = take(p.team, phase, items)
    while item >= 0:
        head, first = item // chunks, BLOCK_CHUNK * (item % chunks)
        for tile in range(first, min(first + BLOCK_CHUNK, tiles)):
            if block == 0:
                _first_product(p, head, tile, y)
            else:
                _further_product(p, head, tile, block, y)
            _finish_tile(p, head, tile, block, y)
        item = take_next(p.team, phase, items)


@numba.njit(cache=True, error_model="numpy")
def _project(p, phase):
    groups, rows = p.hidden // GROUP, p.heads * p.rows
    row_bytes, out_bytes = groups * RECORD, 4 * p.num_tiles * p.lanes
    tile_bytes = groups * p.lanes * TILE_BYTES
    items = -(-p.num_tiles // CHUNK)
    item = take(p.team, phase, items)
    while item >= 0:
        for tile in range(CHUNK * item, min(CHUNK * item + CHUNK, p.num_tiles)):
            at, out = p.projection + tile_bytes * tile, p.logits + 4 * p.lanes * tile
            call(
                p.tile_into,
                BITS,
                at,
                groups,
                p.records,
                row_bytes,
                rows,
                out,
                out_bytes,
            )
        item = take_next(p.team, phase, items)


@numba.njit(cache=True, error_model="numpy")
def _best(p, phase):
    """The best of every row's logits, and their probabilities."""
    rows = p.heads * p.rows
    row = take(p.team, phase, rows)
    while row >= 0:
        logits = floats(p.logits + 4 * p.num_tiles * p.lanes * row, p.width)
        place = row % p.rows * p.heads + row // p.rows
        ids = numba.carray(whole_at(p.ids + 8 * p.top * place), p.top)
        probs = floats(p.probs + 4 * p.top * place, p.top)
        best_of(logits, ids, probs)
        to_probs(probs, total_of(logits, probs[0]))
        if p.token_map != 0:
            token_map = numba.carray(whole_at(p.token_map), p.width)
            for i in range(p.top):
                ids[i] = token_map[ids[i]]
        row = take_next(p.team, phase, rows)


@numba.cfunc(types.void(types.CPointer(HEADS_TYPE)), cache=True)
def run_heads(address):
    """Everything; every thread calls it with the same Heads."""
    p = numba.carray(address, 1)[0]
    thread = join(p.team)
    _quantise_sources(p, 0, thread)
    for block in range(p.num_blocks):
        _block(p, 2 * block + 1, block, thread)
        _quantise(p, 2 * block + 2)
    _project(p, 2 * p.num_blocks + 1)
    _best(p, 2 * p.num_blocks + 2)
