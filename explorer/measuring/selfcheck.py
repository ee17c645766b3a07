"""What is true of a model is found out on the machine at hand, not taken on trust.

Two questions at start-up: does our pass (own cache, own mask, own attention) compute what the
network itself computes; and is a row's result the same bits whatever the rows beside it?
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

from explorer.decoding.cache import KVCache
from explorer.decoding.tree import causal_mask
from explorer.models.base import LanguageModel
from explorer.records.errors import ExplorerError

PROBE = 12  # tokens
LIMITS = (64, 16)  # rows that a product of the LM head is limited to, the first that is invariant
SAME_MEANING = 0.2  # most that two right computations may differ, as a share of the logits' spread


def check_model(model: LanguageModel) -> None:
    """Set `model.bit_exact`, or raise ExplorerError if the architecture is not understood."""
    make_lm_head_invariant(model)
    tokens = torch.arange(PROBE) * 37 % model.vocab_size
    ours = _in_passes(model, tokens, [PROBE])
    theirs = model.hidden_states(tokens)
    ours_logits, their_logits = model.logits(ours), model.logits(theirs)
    spread = (their_logits.max() - their_logits.min()).item()
    if not (ours_logits - their_logits).abs().max().item() <= SAME_MEANING * max(spread, 1e-3):
        raise ExplorerError(
            f"The architecture of {model.name} is not supported: its layers do not compute what "
            "they should with a tree-attention mask; choose another model."
        )
    one_by_one = _in_passes(model, tokens, [1] * PROBE)
    mixed = _in_passes(model, tokens, [3, 8, 1])
    model.bit_exact = torch.equal(ours, one_by_one) and torch.equal(ours, mixed)
    model.notes.append(
        "Bit-exact on this machine: a token's hidden state does not depend on the pass's width."
        if model.bit_exact
        else "Not bit-exact: this backend's results vary in the last bits with the pass's width."
    )


def make_lm_head_invariant(model: LanguageModel) -> None:
    """Limit the LM head's products to widths that give a row the same bits whatever the width.

    Libraries change their tiling with the number of rows, at a width that differs from machine to
    machine. Only where no limit helps is every product padded, which costs plain decoding, too.
    """
    head = model.lm_head
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(LIMITS[0], model.hidden_size, generator=generator).to(head.weight)
    head.most_rows = next(
        (limit for limit in LIMITS if _is_invariant_up_to(head.weight, hidden[:limit])), None
    )
    head.padded = head.most_rows is None
    if head.padded:
        head.most_rows = LIMITS[-1]


def _is_invariant_up_to(weight: torch.Tensor, hidden: torch.Tensor) -> bool:
    """Whether a product of any narrower width has the bits of the one over all of `hidden`."""
    whole = F.linear(hidden, weight)
    return all(
        torch.equal(F.linear(hidden[:n], weight), whole[:n]) for n in range(1, hidden.shape[0])
    )


def _in_passes(model: LanguageModel, tokens: torch.Tensor, widths: list[int]) -> torch.Tensor:
    """Hidden states [T, H] of `tokens`, computed in causal passes of the given widths."""
    cache = KVCache.of(model)
    parts = []
    for part in tokens.split(widths):
        n = part.numel()
        parts.append(model.forward(part, torch.arange(n), causal_mask(n), cache))
        cache.commit(range(n))
    return torch.cat(parts)
