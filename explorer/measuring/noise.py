"""The noise of logits: how much they change when only the shape of the pass changes.

A token computed in a pass of one row and the same token computed inside a wider pass, or inside a
tree pass, should be the same bits; with most kernels they are not, and then two nearly equal
logits can change places. This is measured, on real text, so that a difference between Medusa and
plain decoding can be distinguished from a bug.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from explorer.decoding.cache import AnyCache, KVCache
from explorer.decoding.loop import prefill
from explorer.decoding.tree import causal_mask, rows_of

if TYPE_CHECKING:
    from explorer.models.base import LanguageModel

WIDTHS = (2, 8, 16, 64)  # rows of a pass
LIKELY = 5  # only the likeliest tokens can win; the others' logits decide nothing
Outputs = tuple[torch.Tensor, torch.Tensor]  # hidden [T, H], logits [T, V] float32


@dataclass(frozen=True)
class Noise:
    """Differences between one-row passes and wider ones over the same text.

    `logit` is the largest |difference| of a logit among the likeliest tokens of a position;
    `margin` the largest change of a difference between two of these logits, which is what can
    make two tokens change places. `hidden_bit_identical` says whether every hidden state was the
    same to the last bit, for every width. `leads` are the logits of the likeliest token over those
    of the second, at every position in a one-row pass.
    """

    margin: float
    logit: float
    hidden_bit_identical: bool
    by_pass: dict[str, float]  # margin by kind of pass: "rows 8", "tree 8"
    leads: tuple[float, ...] = ()

    @property
    def within(self) -> float:
        """Share of positions whose first two tokens are so close that the noise could swap them.

        A difference at one of these counts as a tie whatever caused it.
        """
        return sum(lead < self.margin for lead in self.leads) / max(1, len(self.leads))


@torch.inference_mode()
def measure_noise(
    model: LanguageModel,
    texts: Iterable[tuple[Sequence[int], Sequence[int]]],
    widths: Sequence[int] = WIDTHS,
) -> Noise:
    """Compare one-row passes with passes of `widths` rows, causal and tree-shaped, over `texts`.

    A text is (prompt ids, reply ids). The prompt is read in one pass and the reply computed after
    it, each kind of pass on a cache that only it has written: differences may pile up in the
    cache as they do in decoding. Only the reply is compared.
    """
    found: dict[str, list[Noise]] = {}
    leads: list[float] = []
    for prompt, reply in texts:
        if len(reply) < 2:
            continue
        tokens = torch.tensor(list(reply))
        alone = _outputs(model, prompt, tokens, width=1, tree=False)
        first, second = alone[1].topk(2, dim=-1).values.unbind(-1)
        leads += (first - second).tolist()
        for width in widths:
            for tree in (False, True):
                wide = _outputs(model, prompt, tokens, width, tree)
                name = f"{'tree' if tree else 'rows'} {width}"
                found.setdefault(name, []).append(_compare(alone, wide))
    everything = [noise for several in found.values() for noise in several]
    return Noise(
        margin=max((noise.margin for noise in everything), default=0.0),
        logit=max((noise.logit for noise in everything), default=0.0),
        hidden_bit_identical=all(noise.hidden_bit_identical for noise in everything),
        by_pass={name: max(noise.margin for noise in some) for name, some in found.items()},
        leads=tuple(leads),
    )


@torch.inference_mode()
def read_prompt(model: LanguageModel, prompt: Sequence[int]) -> AnyCache:
    """A cache that holds the prompt, read as decoding reads it."""
    cache = KVCache.of(model)
    if prompt:
        prefill(model, list(prompt), cache)
    return cache


def _outputs(
    model: LanguageModel, prompt: Sequence[int], tokens: torch.Tensor, width: int, tree: bool
) -> Outputs:
    """Hidden states and logits of all `tokens` [T], computed `width` rows a pass."""
    cache = read_prompt(model, prompt)
    hidden, logits = [], []
    # Of the rows of a tree pass every other one is a sibling that is not part of the text.
    step = max(2, width // 2) if tree else width
    for part in tokens.split(step):
        rows, depths, mask, kept = _tree_pass(part) if tree else _causal_pass(part)
        states = model.forward(rows, depths, mask, cache)
        hidden.append(states[kept])
        logits.append(model.logits(states)[kept])
        cache.commit(kept)
    return torch.cat(hidden), torch.cat(logits)


def _causal_pass(part: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, list[int]]:
    n = len(part)
    return part, torch.arange(n), causal_mask(n), list(range(n))


def _tree_pass(part: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, list[int]]:
    """The text as one path of a tree, with a wrong sibling before each of its nodes."""
    m = len(part)
    path = [2 * i for i in range(m)]  # rows of the text: 0, 2, 4, …; its siblings: 1, 3, …
    n = 2 * m - 1
    rows = torch.empty(n, dtype=torch.long)
    rows[path] = part
    rows[1::2] = part[:-1]  # a token of the text
    # Depth d has the rows 2d − 1 (wrong) and 2d (text); both hang below row 2d − 2.
    depths, mask = rows_of([-1, *(2 * ((row + 1) // 2) - 2 for row in range(1, n))])
    return rows, depths, mask, path


def _compare(alone: Outputs, wide: Outputs) -> Noise:
    likely = alone[1].topk(min(LIKELY, alone[1].shape[1]), dim=-1).indices
    moved = (wide[1] - alone[1]).gather(1, likely)  # [T, likely]
    return Noise(
        margin=float((moved.amax(dim=-1) - moved.amin(dim=-1)).max()),
        logit=float(moved.abs().max()),
        hidden_bit_identical=torch.equal(alone[0], wide[0]),
        by_pass={},
    )
