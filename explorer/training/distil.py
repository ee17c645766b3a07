"""Training on the base model's own distribution: batches, hidden states, the loss."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from explorer.models.base import LanguageModel
from explorer.training.data import Conversation, right_padded
from explorer.training.precision import compute_dtype

ROWS_AT_A_TIME = 128


def epoch_batches(
    lengths: Sequence[int], batch_size: int, seed: int, epoch: int
) -> list[list[int]]:
    """Indices in batches of similar length, in an order that the seed and the epoch decide."""
    rng = random.Random(f"{seed}/{epoch}")
    # Lengths get noise, so that batches differ from epoch to epoch.
    order = sorted(range(len(lengths)), key=lambda i: lengths[i] * rng.uniform(0.8, 1.25))
    batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]
    rng.shuffle(batches)
    return batches


def reply_states(model: LanguageModel, conversations: Sequence[Conversation]) -> Tensor:
    """Hidden states [R, H] that predict the replies' tokens, conversation after conversation.

    Sequences are padded at the right, where causal attention never looks.
    """
    sequences = [(c.prompt + c.response)[:-1] for c in conversations]
    hidden = model.body(input_ids=right_padded(sequences).to(model.device), use_cache=False)
    parts = [
        states[len(c.prompt) - 1 : len(c.prompt) - 1 + len(c.response)]
        for states, c in zip(hidden, conversations, strict=True)
    ]
    return torch.cat(parts)


def distribution_loss(
    student: Tensor, teacher: Tensor, weight: Tensor, dtype: torch.dtype | None = None
) -> Tensor:
    """Mean over rows of KL(teacher ‖ student), both through the LM head `weight` [V, H].

    student, teacher [R, H] are hidden states; products are computed in `dtype` (see
    `compute_dtype` for None), the rest in float32. Returns a scalar that can be differentiated with
    respect to the student alone. The logits of a few rows exist at a time, and their gradient is
    taken at once (`training/loss.py`).
    """
    dtype = dtype or compute_dtype(student.device)
    return _DistributionLoss.apply(student, teacher, weight, dtype)


class _DistributionLoss(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, student: Tensor, teacher: Tensor, weight: Tensor, dtype: torch.dtype
    ) -> Tensor:
        W = weight.to(dtype)
        grad = torch.empty(student.shape, dtype=dtype, device=student.device)
        loss = torch.zeros((), device=student.device)
        for start in range(0, len(student), ROWS_AT_A_TIME):
            part = slice(start, start + ROWS_AT_A_TIME)
            log_q = (student[part].to(dtype) @ W.T).float().log_softmax(-1)
            log_p = (teacher[part].to(dtype) @ W.T).float().log_softmax(-1)
            p = log_p.exp()
            loss += (p * (log_p - log_q)).sum()
            grad[part] = (log_q.exp_() - p).to(dtype) @ W
        ctx.save_for_backward(grad)
        ctx.scale, ctx.dtype = 1 / max(1, len(student)), student.dtype
        return loss * ctx.scale

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        (states,) = ctx.saved_tensors
        return states.to(ctx.dtype) * (grad * ctx.scale), None, None, None
