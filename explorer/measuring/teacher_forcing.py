"""A text that another engine wrote greedily, read again by our own model: where would it differ?

At every position the model is given the text as it is (teacher forcing), so that one difference
does not make all that follows differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from explorer.decoding.cache import KVCache
from explorer.decoding.loop import prefill
from explorer.decoding.tree import causal_mask

if TYPE_CHECKING:
    from explorer.models.base import LanguageModel

ROWS = 64  # of a pass


@torch.inference_mode()
def forced_logits(
    model: LanguageModel, prompt: Sequence[int], reply: Sequence[int]
) -> torch.Tensor:
    """Logits [T, V] float32 that the model has for each of the reply's T tokens, after the text
    before it. prompt and reply are token ids, neither empty."""
    cache = KVCache.of(model)
    found = [model.logits(prefill(model, list(prompt), cache))]
    for part in torch.tensor(list(reply[:-1]), dtype=torch.long).split(ROWS):
        n = part.numel()
        if n:
            found.append(model.logits(model.forward(part, torch.arange(n), causal_mask(n), cache)))
            cache.commit(range(n))
    return torch.cat(found).float()


def margins(logits: torch.Tensor, reply: Sequence[int]) -> list[tuple[int, float]]:
    """Where the reply's token is not the likeliest: its place, and how much higher that one lies.

    logits [T, V] as of `forced_logits`; the places count the reply's tokens from 0.
    """
    tokens = torch.tensor(list(reply), device=logits.device)
    behind = logits.amax(-1) - logits.gather(1, tokens[:, None])[:, 0]
    return [(place, float(behind[place])) for place in behind.nonzero()[:, 0].tolist()]
