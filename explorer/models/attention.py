"""Attention with one fixed order of reduction, so that a row's result depends on that row alone.

In a tree pass a node's keys lie at other slots than in a plain pass, with siblings between them,
and a library kernel picks its order of summation by the shape of the whole batch. Either changes
the last bits, and with them, sooner or later, a token. Here every sum runs over the slots from
first to last, one addition after the other. A slot that a row may not see has weight exactly 0,
which leaves every partial sum as it was, so the sum over a tree's slots *is* the sum over the
node's path. Vectorisation cannot change that: it runs across independent sums (slots for the
scores, features for the output), and the code is compiled without fast-math.

Everything is float32. Keys are stored transposed, [key-value heads, head size, slots], and slots
are padded to a multiple of `SLOT_BLOCK` so that no loop has a remainder.
"""

from __future__ import annotations

import numba
import numpy as np
import torch
from transformers import AttentionInterface

FIXED_ORDER = "fixed_order"
SLOT_BLOCK = 64


def pad_slots(slots: int) -> int:
    """`slots` rounded up to a multiple of SLOT_BLOCK."""
    return -(-slots // SLOT_BLOCK) * SLOT_BLOCK


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _weights_of(scores, visible, weights, exponents):
    """Softmax numerators: weights = exp(scores − max) over visible slots, 0 elsewhere.

    Returns their sum, taken from the first slot to the last. exp is Cephes' expf, written out so
    that every slot goes through the same operations whatever the vector width.
    """
    top = np.float32(-np.inf)
    for j in range(scores.size):
        top = max(top, scores[j] if visible[j] else np.float32(-np.inf))
    power_of_two = exponents.view(np.float32)
    for j in range(scores.size):
        x = min(max(scores[j] - top, np.float32(-87.0)), np.float32(0.0))
        n = np.floor(x * np.float32(1.44269504) + np.float32(0.5))
        r = (x - n * np.float32(0.693359375)) - n * np.float32(-2.12194440e-4)
        p = np.float32(1.9875691500e-4)
        p = p * r + np.float32(1.3981999507e-3)
        p = p * r + np.float32(8.3334519073e-3)
        p = p * r + np.float32(4.1665795894e-2)
        p = p * r + np.float32(1.6666665459e-1)
        p = p * r + np.float32(5.0000001201e-1)
        weights[j] = p * r * r + r + np.float32(1.0)
        exponents[j] = (np.int32(n) + np.int32(127)) << np.int32(23)
    total = np.float32(0.0)
    for j in range(scores.size):
        weights[j] = weights[j] * power_of_two[j] if visible[j] else np.float32(0.0)
        total += weights[j]
    return total


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _attend(query, keys, values, mask, scaling, out):
    """Fill `out` [n, heads, head size]; see `fixed_order_attention` for the shapes."""
    n, heads, size = query.shape
    group = heads // keys.shape[0]
    scores = np.empty(mask.shape[1], np.float32)
    weights = np.empty(mask.shape[1], np.float32)
    exponents = np.empty(mask.shape[1], np.int32)
    for i in range(n):
        last = mask.shape[1] - 1
        while not mask[i, last]:
            last -= 1
        slots = -(-(last + 1) // SLOT_BLOCK) * SLOT_BLOCK
        visible, s, w = mask[i, :slots], scores[:slots], weights[:slots]
        for h in range(heads):
            k, v, q = keys[h // group], values[h // group], query[i, h]
            s[:] = np.float32(0.0)
            for d in range(0, size, 4):
                q0, q1 = q[d] * scaling, q[d + 1] * scaling
                q2, q3 = q[d + 2] * scaling, q[d + 3] * scaling
                k0, k1, k2, k3 = k[d], k[d + 1], k[d + 2], k[d + 3]
                for j in range(slots):
                    s[j] = (((s[j] + q0 * k0[j]) + q1 * k1[j]) + q2 * k2[j]) + q3 * k3[j]
            total = _weights_of(s, visible, w, exponents[:slots])
            o = out[i, h]
            o[:] = np.float32(0.0)
            for j in range(0, slots, 4):
                w0, w1, w2, w3 = w[j], w[j + 1], w[j + 2], w[j + 3]
                if w0 != 0.0 or w1 != 0.0 or w2 != 0.0 or w3 != 0.0:
                    v0, v1, v2, v3 = v[j], v[j + 1], v[j + 2], v[j + 3]
                    for d in range(size):
                        o[d] = (((o[d] + w0 * v0[d]) + w1 * v1[d]) + w2 * v2[d]) + w3 * v3[d]
            for d in range(size):
                o[d] /= total


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
    rows = query[0].transpose(0, 1).float().contiguous()
    out = torch.empty_like(rows)
    _attend(
        rows.numpy(),
        key.numpy(),
        value.numpy(),
        attention_mask[0, 0].numpy(),
        np.float32(scaling),
        out.numpy(),
    )
    return out[None].to(query.dtype), None


AttentionInterface.register(FIXED_ORDER, fixed_order_attention)
