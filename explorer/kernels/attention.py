"""Attention with one fixed order of reduction, so that a row's result depends on that row alone.

In a tree pass a node's keys lie at other slots than in a plain pass, with siblings between them,
and a library kernel picks its order of summation by the shape of the whole batch. Either changes
the last bits, and with them, sooner or later, a token. Here every sum runs over the slots from
first to last, one addition after the other. A slot that a row may not see has weight exactly 0,
which leaves every partial sum as it was, so the sum over a tree's slots *is* the sum over the
node's path. Vectorisation cannot change that: it runs across independent sums (slots for the
scores, features for the output), and the code is compiled without reassociation.

Everything is float32. Keys are stored transposed, [key-value heads, head size, slots], and slots
are padded to a multiple of `SLOT_BLOCK` so that no loop has a remainder.
"""

from __future__ import annotations

import ctypes
import functools

import numba
import numpy as np
import torch
from numba import types
from transformers import AttentionInterface

from explorer.kernels.compiled import claim, exp32, flags_at, floats_at, largest
from explorer.kernels.layout import register_mask
from explorer.kernels.threads import on_all_threads

FIXED_ORDER = "fixed_order"
SLOT_BLOCK = 64
FIXED_POINT = np.float32(2.0**40)
UNSEEN = np.float32(-3.0e38)  # a score below all others
CALL = 12  # numbers in the description of a call


def pad_slots(slots: int) -> int:
    """`slots` rounded up to a multiple of SLOT_BLOCK."""
    return -(-slots // SLOT_BLOCK) * SLOT_BLOCK


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _weights_of(scores, visible):
    """Softmax numerators, in place: exp(score − max) over visible slots, 0 elsewhere.

    Returns their sum. It is taken in 40-bit fixed point, whose additions are exact, so its order
    is free.
    """
    for j in range(scores.size):
        scores[j] = scores[j] if visible[j] else UNSEEN
    top = largest(scores)
    for j in range(scores.size):
        scores[j] = exp32(scores[j] - top)
    total = np.int64(0)
    for j in range(scores.size):
        scores[j] = scores[j] if visible[j] else np.float32(0.0)
        total += np.int64(scores[j] * FIXED_POINT)
    return np.float32(total / np.float64(FIXED_POINT))


# Fused multiply-adds are allowed from here on: they round once less, in the same order.
@numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract"})
def _score_pair(a, b, keys, scores_a, scores_b):
    """scores[j] = Σ_d query[d] · keys[d, j] for two queries, d in one fixed order.

    Two at a time, because reading the keys takes longer than multiplying them.
    """
    scores_a[:] = np.float32(0.0)
    scores_b[:] = np.float32(0.0)
    for d in range(0, a.size, 4):
        a0, a1, a2, a3 = a[d], a[d + 1], a[d + 2], a[d + 3]
        b0, b1, b2, b3 = b[d], b[d + 1], b[d + 2], b[d + 3]
        k0, k1, k2, k3 = keys[d], keys[d + 1], keys[d + 2], keys[d + 3]
        for j in range(scores_a.size):
            scores_a[j] += (a0 * k0[j] + a1 * k1[j]) + (a2 * k2[j] + a3 * k3[j])
            scores_b[j] += (b0 * k0[j] + b1 * k1[j]) + (b2 * k2[j] + b3 * k3[j])


@numba.njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract"})
def _mix_pair(weights_a, weights_b, values, out_a, out_b):
    """out[d] = Σ_j weights[j] · values[j, d] for two queries, strictly slot after slot.

    Which slots are empty differs from layout to layout, so they must not be grouped.
    """
    out_a[:] = np.float32(0.0)
    out_b[:] = np.float32(0.0)
    for j in range(0, weights_a.size, 4):
        a0, a1, a2, a3 = weights_a[j], weights_a[j + 1], weights_a[j + 2], weights_a[j + 3]
        b0, b1, b2, b3 = weights_b[j], weights_b[j + 1], weights_b[j + 2], weights_b[j + 3]
        v0, v1, v2, v3 = values[j], values[j + 1], values[j + 2], values[j + 3]
        for d in range(out_a.size):
            out_a[d] = (((out_a[d] + a0 * v0[d]) + a1 * v1[d]) + a2 * v2[d]) + a3 * v3[d]
            out_b[d] = (((out_b[d] + b0 * v0[d]) + b1 * v1[d]) + b2 * v2[d]) + b3 * v3[d]


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _attend(claimed, query, keys, values, mask, out):
    """Fill `out` [n, heads, head size]; see `fixed_order_attention` for the shapes.

    The work is a row of items, two queries of one key-value head each. Any number of threads may
    run this side by side on the same arguments: an item is computed by the one that claims it.
    """
    heads, n, size = query.shape
    group = heads // keys.shape[0]
    pairs = -(-n * group // 2)
    scores_a = np.empty(mask.shape[1], np.float32)
    scores_b = np.empty(mask.shape[1], np.float32)
    out_a, out_b = np.empty(size, np.float32), np.empty(size, np.float32)
    item = claim(claimed)
    while item < pairs * keys.shape[0]:
        kv, first = item // pairs, 2 * (item % pairs)
        # Row i, head g of the group is query i · group + g; an odd one out is paired with itself.
        second = min(first + 1, n * group - 1)
        i, g, k, h = first // group, first % group, second // group, second % group
        last = mask.shape[1] - 1
        while not (mask[i, last] or mask[k, last]):
            last -= 1
        slots = -(-(last + 1) // SLOT_BLOCK) * SLOT_BLOCK
        a, b = scores_a[:slots], scores_b[:slots]
        g, h = kv * group + g, kv * group + h
        _score_pair(query[g, i], query[h, k], keys[kv], a, b)
        total_a = _weights_of(a, mask[i, :slots])
        total_b = _weights_of(b, mask[k, :slots])
        _mix_pair(a, b, values[kv], out_a, out_b)
        for d in range(size):
            out[i, g, d] = out_a[d] / total_a
            out[k, h, d] = out_b[d] / total_b
        item = claim(claimed)


def _attend_at(call):
    """`_attend` on the addresses and sizes that `fixed_order_attention` writes down."""
    fields = numba.carray(call, CALL)
    heads, n, size, kv_heads, capacity, slots = (
        fields[6],
        fields[7],
        fields[8],
        fields[9],
        fields[10],
        fields[11],
    )
    _attend(
        fields,  # its first number counts the items that are claimed
        numba.carray(floats_at(fields[1]), (heads, n, size)),
        numba.carray(floats_at(fields[2]), (kv_heads, size, capacity)),
        numba.carray(floats_at(fields[3]), (kv_heads, capacity, size)),
        numba.carray(flags_at(fields[4]), (n, slots)),
        numba.carray(floats_at(fields[5]), (n, heads, size)),
    )


@functools.cache
def _task() -> int:
    """The address of `_attend_at`, compiled when a network first needs it."""
    kind = types.void(types.CPointer(types.int64))
    return numba.cfunc(kind, cache=True)(_attend_at).address


def fixed_order_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor,
    scaling: float,
    **_: object,
) -> tuple[torch.Tensor, None]:
    """The attention function that transformers calls in every layer.

    query [1, heads, n, head size]; key [kv heads, head size, capacity] and value [kv heads,
    capacity, head size] float32, as `KVCache` keeps them; attention_mask [1, 1, n, slots] bool
    with slots a multiple of SLOT_BLOCK and at least one visible slot a row. Returns
    ([1, n, heads, head size] in the query's dtype, None).
    """
    if value.shape != (key.shape[0], key.shape[2], key.shape[1]) or key.shape[1] % 4:
        raise ValueError("fixed-order attention takes keys and values of one size, whole fours")
    rows = query[0].float() * scaling
    heads, n, size = rows.shape
    out = torch.empty(n, heads, size)
    # Kept by name until the call is over: only their addresses are passed on.
    arrays = [array.contiguous() for array in (rows, key, value, attention_mask[0, 0], out)]
    places = [array.data_ptr() for array in arrays]
    sizes = heads, n, size, key.shape[0], key.shape[2], attention_mask.shape[-1]
    call = (ctypes.c_int64 * CALL)(0, *places, *sizes)
    on_all_threads(_task(), ctypes.addressof(call))
    return out[None].to(query.dtype), None


AttentionInterface.register(FIXED_ORDER, fixed_order_attention)
register_mask(FIXED_ORDER)
