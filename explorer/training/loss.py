"""Cross-entropy of the heads against sparse targets, with little memory.

The logits of one batch (heads × rows × vocabulary) are far larger than anything else here, and
the autograd of plain cross-entropy keeps several float32 copies of them. This computes the loss
and its gradient a few rows at a time, while they are in the processor's cache, and keeps the
gradient in the compute dtype only. (The idea of fused linear cross-entropy, as in Liger Kernel.)
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from explorer.training.precision import compute_dtype

ROWS_AT_A_TIME = 128


def sparse_cross_entropy(
    features: Tensor,
    projection: Tensor,
    ids: Tensor,
    weights: Tensor,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """Sum over rows r and targets s of weights[r, s] · −log softmax(W · features[r])[ids[r, s]].

    features [R, H], projection W [V, H], ids int64 [R, S], weights float32 [R, S]; products are
    computed in `dtype` (see `compute_dtype` for None), the softmax in float32. Returns a scalar
    that can be differentiated with respect to features and projection.
    """
    dtype = dtype or compute_dtype(features.device)
    return _SparseCrossEntropy.apply(features, projection, ids, weights, dtype)


class _SparseCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        projection: Tensor,
        ids: Tensor,
        weights: Tensor,
        dtype: torch.dtype,
    ) -> Tensor:
        x, W = features.to(dtype), projection.to(dtype)
        logits = x @ W.T  # [R, V]; its own memory takes the gradient
        loss = weights.new_zeros(())
        for start in range(0, len(x), ROWS_AT_A_TIME):
            part = slice(start, start + ROWS_AT_A_TIME)
            loss += _replace_by_gradient(logits[part], ids[part], weights[part])
        needs_features, needs_projection = ctx.needs_input_grad[:2]
        ctx.save_for_backward(
            logits @ W if needs_features else None,
            logits.T @ x if needs_projection else None,
        )
        ctx.dtypes = features.dtype, projection.dtype
        return loss

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        grads = [
            None if g is None else g.to(dtype).mul_(grad)
            for g, dtype in zip(ctx.saved_tensors, ctx.dtypes, strict=True)
        ]
        return (*grads, None, None, None)


def _replace_by_gradient(logits: Tensor, ids: Tensor, weights: Tensor) -> Tensor:
    """The loss of some rows [r, V], whose logits become its gradient: mass · softmax − targets."""
    z = logits.float()
    picked = z.gather(-1, ids)
    highest = z.amax(-1, keepdim=True)
    z.sub_(highest).exp_()
    total = z.sum(-1, keepdim=True)
    mass = weights.sum(-1, keepdim=True)
    logits.copy_(z.mul_(mass / total).scatter_add_(-1, ids, -weights))
    return ((total.log() + highest) * mass).sum() - (picked * weights).sum()
