"""Heads that choose between some tokens only, over the whole vocabulary."""

from __future__ import annotations

from torch import Tensor


def over_whole_vocabulary(projection: Tensor, token_map: Tensor, vocab_size: int) -> Tensor:
    """Rows for every token, of which those outside the map never win: [..., V_d, H] -> [..., V, H].

    A row outside holds the mean of all rows in the map, so its logit is the mean of theirs, which
    is never above the highest of them: the first guess stays, whatever the hidden state. With
    zeros in its place a token outside would win wherever all logits are below 0. Guesses behind
    the first, and probabilities, may change a little.
    """
    mean = projection.float().mean(-2, keepdim=True).to(projection.dtype)
    whole = mean.expand(*projection.shape[:-2], vocab_size, projection.shape[-1]).clone()
    whole[..., token_map.to(whole.device), :] = projection
    return whole
