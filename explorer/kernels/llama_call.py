"""What the compiled pass of a Llama-like network is called with: sizes and addresses."""

from __future__ import annotations

import ctypes

import numba
import numpy as np

from explorer.kernels.compiled import int64_fields, pointer_to

MATRICES = ("query", "key", "value", "output", "gate", "up", "down")

# One layer. A matrix is the address of its first tile, and its bits.
LAYER = np.dtype(
    [(name, np.int64) for matrix in MATRICES for name in (matrix, f"{matrix}_bits")]
    + [(name, np.int64) for name in ("input_norm", "mlp_norm")]
)


class Pass(ctypes.Structure):
    """Addresses and sizes of a pass over n rows after `prefix` cached tokens.

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
    score_slots          prefix + n, rounded up to whole blocks
    together             how many queries a thread takes at a time
    scratch              [threads, scratch_size]
    team                 kernels/team.py
    tile_into …          addresses of kernels (kernels/products.py)
    """

    _fields_ = [
        *int64_fields(
            "num_layers layers lanes hidden heads kv_heads head_size inner embedding "
            "cos sin final_norm n prefix tokens offsets visible keys values capacity "
            "x out records inner_records projected score_slots together scratch "
            "scratch_size team tile_into tile_onto score_kernel mix_kernel"
        ),
        ("epsilon", ctypes.c_float),
        ("scaling", ctypes.c_float),
    ]


PASS_TYPE, LAYER_TYPE = numba.from_dtype(np.dtype(Pass)), numba.from_dtype(LAYER)
layers_at = pointer_to(LAYER_TYPE)
