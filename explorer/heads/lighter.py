"""Lighter projections for heads that were trained with heavy ones: fewer rows, or 4 bits.

Five published heads with their own fp16 projections read 1.3 GB a draft beside a 7B base model of
3.9 GB. Both ways change guesses only, so they cost acceptance, never correctness; what they cost is
measured like all else ('doctor', 'calibrate'). Lighter heads draft; they are not saved.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import torch
from torch import Tensor, nn

from explorer.heads.heads import MedusaHeads
from explorer.heads.hydra import MixingHydraHeads
from explorer.kernels.nf4 import COLUMNS, FourBitProjection
from explorer.records.errors import ExplorerError


def frequent_tokens(pieces: list[str], count: int, among: Iterable[int]) -> Tensor:
    """The `count` token ids to keep of those in `among`, int64, rising.

    pieces: the text of every token id. Tokens of one character come first, wherever a vocabulary
    has them, then all others by their number: byte-pair encoding numbers its tokens in the order
    in which it found them, the most frequent pairs first.
    """
    order = sorted(among, key=lambda token: (len(pieces[token].strip()) > 1, token))
    return torch.tensor(sorted(order[:count]))


def require_lighter(heads: MedusaHeads, vocabulary: int | None, nf4: bool) -> None:
    """Raise ExplorerError, with the remedy, where heads cannot be made lighter in this way."""
    if vocabulary is not None and vocabulary >= heads.config.output_size:
        raise ExplorerError(
            f"The heads choose between {heads.config.output_size} tokens already: give a "
            "--heads-vocabulary below that, or leave it out."
        )
    if nf4 and heads.config.hidden_size % COLUMNS:
        raise ExplorerError(
            f"NF4 needs a hidden size of whole blocks of {COLUMNS}, and the heads have "
            f"{heads.config.hidden_size}: leave out --heads-dtype."
        )


def keep_tokens(heads: MedusaHeads, ids: Tensor) -> None:
    """Let the heads choose between these of their tokens alone, int64 [V'], rising."""
    rows = heads.rows.detach()
    ids = ids.to(rows.device)
    if heads.token_map is not None:
        kept = torch.isin(heads.token_map, ids).nonzero()[:, 0]
        ids = heads.token_map[kept]
    else:
        kept = ids
    smaller = rows[..., kept, :].contiguous()
    if heads.config.kind == "shared":  # the base model's LM head keeps its rows
        heads.projection = smaller
    else:
        heads.projection = nn.Parameter(smaller, requires_grad=False)
    if isinstance(heads, MixingHydraHeads):
        heads.projection_bias = nn.Parameter(heads.projection_bias[:, kept], requires_grad=False)
    heads.token_map = ids
    heads.config = heads.config.model_copy(update={"draft_vocab_size": len(ids)})


def quantise_projection(heads: MedusaHeads) -> None:
    """Hold the projection in NF4."""
    heads.packed = FourBitProjection(heads.rows.detach())
    heads.projection = None


def lighten(
    heads: MedusaHeads, pieces: list[str], vocabulary: int | None = None, nf4: bool = False
) -> None:
    """Make loaded heads lighter, and let their facts say how; pieces: as in frequent_tokens.

    Raises ExplorerError where it cannot be done.
    """
    require_lighter(heads, vocabulary, nf4)
    changes = []
    if vocabulary is not None:
        theirs = range(heads.config.vocab_size) if heads.token_map is None else heads.token_map
        keep_tokens(heads, frequent_tokens(pieces, vocabulary, map(int, theirs)))
        changes.append(
            f"The heads choose between {heads.config.output_size} of {heads.config.vocab_size} "
            "tokens (--heads-vocabulary): they never guess another."
        )
    if nf4:
        quantise_projection(heads)
        changes.append("The heads' projection is held in 4 bits (--heads-dtype nf4).")
    heads.lighter = " ".join(changes)
    if heads.origin is not None:
        heads.origin = replace(heads.origin, differences=[*heads.origin.differences, *changes])
