"""The accuracy of heads and models on held-out text."""

from __future__ import annotations

import torch
from torch import Tensor

from explorer.heads.heads import MedusaHeads
from explorer.models.base import LanguageModel
from explorer.training.hidden_cache import HiddenCache

RANKS = (1, 3, 10)
ROWS_AT_A_TIME = 256  # whose logits are in memory together
CONVERSATIONS_AT_A_TIME = 8


@torch.inference_mode()
def first_choices(model: LanguageModel, states: Tensor) -> Tensor:
    """The model's likeliest token for each of its hidden states [R, H], int64 [R]."""
    parts = [
        model.logits(part.to(model.device)).argmax(-1).cpu()
        for part in states.split(ROWS_AT_A_TIME)
    ]
    return torch.cat(parts)


@torch.inference_mode()
def head_accuracy(heads: MedusaHeads, cache: HiddenCache, rows: Tensor) -> dict[str, list[float]]:
    """Top-1, top-3 and top-10 accuracy of every head over the cache rows int64 [n].

    Head k is asked at every row whose reply still has a token k places on. A target outside the
    draft vocabulary can never be proposed and therefore counts as wrong.
    """
    num_heads, device = heads.config.num_heads, heads.block_weight.device
    hits = torch.zeros(len(RANKS), num_heads)
    asked = torch.zeros(num_heads)
    for part in rows.split(ROWS_AT_A_TIME):
        targets, valid = targets_of(cache, part, num_heads)
        path = following(cache, part, num_heads).to(device)
        ids, _ = heads.propose(cache.hidden[part].to(device), max(RANKS), path)
        right = (ids.cpu() == targets[..., None]) & valid[..., None]
        hits += torch.stack([right[..., :r].any(-1).sum(0) for r in RANKS])
        asked += valid.sum(0)
    shares = hits / asked.clamp(min=1)
    return {f"top{r}": [round(x, 4) for x in shares[i].tolist()] for i, r in enumerate(RANKS)}


def targets_of(cache: HiddenCache, rows: Tensor, num_heads: int) -> tuple[Tensor, Tensor]:
    """Target token of each head at each row, int64 [n, K], and whether there is one, bool [n, K].

    The LM head predicts token t+1 from row t, which is `cache.tokens[t]`; head k predicts t+1+k.
    """
    places = rows[:, None] + torch.arange(1, num_heads + 1)
    valid = places < cache.row_ends[rows][:, None]
    return cache.tokens[places.where(valid, rows[:, None])], valid


def following(cache: HiddenCache, rows: Tensor, num_heads: int) -> Tensor:
    """The tokens after each row that heads on their path see, int64 [n, K], the root first.

    Past the end of the reply they repeat its last token: no head has a target there.
    """
    places = rows[:, None] + torch.arange(num_heads)
    return cache.tokens[torch.minimum(places, cache.row_ends[rows][:, None] - 1)]
