"""The accepted path, found where the logits are: nothing here waits for the device."""

from __future__ import annotations

import torch
from torch import Tensor


def follow_rows(
    tokens: Tensor, choices: Tensor, depths: Tensor, sees: Tensor
) -> tuple[Tensor, Tensor]:
    """The deepest row whose every token was chosen at its parent: its number [1], and its path.

    tokens, choices, depths int64 [n], parents before children; sees [n, n] bool, a row its
    ancestors and itself. The second tensor [n] starts with the rows of the path, root first.
    """
    rows = torch.arange(len(tokens), device=tokens.device)
    above = sees & (rows[:, None] != rows)
    parent = (above * (depths + 1)).argmax(dim=-1)
    right = (tokens == choices[parent]) | (rows == 0)
    reached = (right | ~sees).all(dim=-1)
    last = (reached * (depths + 1)).argmax(dim=-1, keepdim=True)
    path = (~sees.index_select(0, last)[0]).to(torch.int8).argsort(stable=True)
    return last, path
