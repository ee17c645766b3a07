"""The targets of the heads: the next tokens and the base model's distribution."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from explorer.heads.heads import MedusaHeads
from explorer.models.base import LanguageModel
from explorer.training.evaluate import targets_of
from explorer.training.hidden_cache import HiddenCache
from explorer.training.precision import compute_dtype

SOFT_TOKENS = 16


@dataclass(frozen=True)
class Targets:
    """Sparse target distributions, S = SOFT_TOKENS + 1 entries each (the token itself is one).

    soft_ids int32 [N, S-1] and soft_probs float16 [N, S-1]: the base model's likeliest next tokens
    at every cache row, as output indices of the heads; None where only hard targets are used.
    draft_index: int64 [V], a full token id's output index, or -1 outside the draft vocabulary.
    """

    cache: HiddenCache
    draft_index: Tensor
    soft_ids: Tensor | None
    soft_probs: Tensor | None
    soft_share: float

    def of(self, rows: Tensor, num_heads: int) -> tuple[Tensor, Tensor]:
        """Output indices int64 [K, n, S] and weights float32 [K, n, S] of the rows' targets.

        Weights of one target sum to 1; to 0 where head k has no target (the reply has ended), and
        to the soft share where the token is outside the draft vocabulary.
        """
        tokens, valid = targets_of(self.cache, rows, num_heads)
        hard = self.draft_index[tokens]
        soft_ids, soft_probs = self.soft_ids, self.soft_probs
        share = self.soft_share if soft_ids is not None else 0.0
        weight = (1 - share) * (valid & (hard >= 0)).float()
        ids, weights = hard.clamp(min=0)[..., None], weight[..., None]
        if soft_ids is not None and soft_probs is not None:
            # The token k places on was predicted by the base model at the row k places on.
            places = rows[:, None] + torch.arange(1, num_heads + 1)
            places = places.where(valid, rows[:, None])
            soft = share * soft_probs[places].float() * valid[..., None]
            ids = torch.cat([ids, soft_ids[places].long()], -1)
            weights = torch.cat([weights, soft], -1)
        return ids.transpose(0, 1), weights.transpose(0, 1)


def build_targets(
    model: LanguageModel, heads: MedusaHeads, cache: HiddenCache, soft_share: float
) -> Targets:
    """Targets for every cache row; the soft ones cost one LM-head pass over the cache."""
    config = heads.config
    index = torch.full((config.vocab_size,), -1, dtype=torch.long)
    token_map = torch.arange(config.vocab_size) if heads.token_map is None else heads.token_map
    index[token_map.cpu()] = torch.arange(config.output_size)
    if soft_share == 0:
        return Targets(cache, index, None, None, 0.0)
    ids, probs = _soft_targets(model, token_map, cache)
    return Targets(cache, index, ids, probs, soft_share)


@torch.inference_mode()
def _soft_targets(
    model: LanguageModel, token_map: Tensor, cache: HiddenCache, chunk: int = 1024
) -> tuple[Tensor, Tensor]:
    """The base model's SOFT_TOKENS likeliest draft tokens at each row, renormalised among them."""
    weight = model.lm_head_weight()
    dtype = compute_dtype(model.device)
    weight = weight[token_map.to(weight.device)].to(model.device, dtype)
    size = min(SOFT_TOKENS, len(weight))
    ids = torch.empty(len(cache.hidden), size, dtype=torch.int32)
    probs = torch.empty(len(cache.hidden), size, dtype=torch.float16)
    for start in range(0, len(cache.hidden), chunk):
        part = slice(start, start + chunk)
        logits = torch.nn.functional.linear(cache.hidden[part].to(model.device, dtype), weight)
        best, where = logits.topk(size, dim=-1)
        ids[part], probs[part] = where.cpu(), best.float().softmax(-1).cpu()
    return ids, probs
