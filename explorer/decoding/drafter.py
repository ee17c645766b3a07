"""The interface of a method: a drafter, which offers a candidate tree in every step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from explorer.decoding.tree import ROOT_ONLY, Tree
from explorer.records.step import LookaheadState

Proposals = Sequence[torch.Tensor | None]


@dataclass(frozen=True)
class ExtraRows:
    """Rows after the tree's in the same pass that the drafter wants computed, never committed.

    tokens, offsets [m]: as in LanguageModel.forward; mask [m, n + m]: of all rows of the pass.
    Drafter.update gets the logits of the last `asked` of them.
    """

    tokens: torch.Tensor
    offsets: torch.Tensor
    mask: torch.Tensor
    asked: int


@dataclass(frozen=True)
class DraftRecord:
    """What a recording shows of a draft; no decision rests on it.

    heads      the heads' ids and probabilities, best first, [K, top] each
    below      where guesses depend on the path: ids and probabilities [top] by row
    worth      `auto` trees only: the price of the verified nodes, in tokens (dynamic.Prices), and
               the trust by which their joint probabilities were multiplied
    lookahead  the window and the pool of lookahead decoding
    """

    heads: tuple[torch.Tensor, torch.Tensor] | None = None
    below: dict[int, tuple[torch.Tensor, torch.Tensor]] | None = None
    worth: tuple[float, float] | None = None
    lookahead: LookaheadState | None = None


@dataclass(frozen=True)
class Draft:
    """A candidate tree with tokens. tokens, probs [n]; probs[i]: the drafter's, given its path.

    proposals  where candidates were drawn: per row, the distribution [V] that its children were
               drawn from in their order, without replacement; None where they were not drawn
    extra      rows of a lookahead branch
    """

    tree: Tree
    tokens: torch.Tensor
    probs: torch.Tensor
    proposals: Proposals | None = None
    extra: ExtraRows | None = None
    record: DraftRecord = DraftRecord()


def bare_root(root: int) -> Draft:
    """The draft without candidates: plain decoding's."""
    return Draft(ROOT_ONLY, torch.tensor([root]), torch.ones(1))


@dataclass(frozen=True)
class Context:
    """The inputs of a draft: the state of the text.

    root      the token at position len(text) − 1, chosen but not yet in the KV cache
    hidden    [1, H], the hidden state that chose it, of the position before
    text      token ids of prompt and reply, the root included
    max_depth how deep a tree may be: no deeper than what is still wanted
    lap       the step's clock (models/clock.py): forward passes of a drafter are its lap "heads"
    """

    root: int
    hidden: torch.Tensor
    text: list[int]
    max_depth: int
    lap: Callable[[str], None] = lambda name: None


class Drafter:
    """A method's own part of a step."""

    def begin(self, prompt: list[int]) -> None:
        """Read the prompt, as part of the prefill."""

    def draft(self, context: Context) -> Draft:
        """The candidate tree of this step; its root is `context.root`."""
        raise NotImplementedError

    def look_ahead(self, hidden: torch.Tensor) -> Sequence[torch.Tensor]:
        """Start on the next draft, from the hidden state [1, H] that chooses its root.

        Called before the host knows that root (decoding/ahead.py). `arrived` gets the tensors.
        """
        return ()

    def arrived(self, tensors: Sequence[torch.Tensor]) -> None:
        """The tensors of `look_ahead`, on the host."""

    def update(self, logits: torch.Tensor) -> None:
        """Learn from the pass: the logits [asked, V] of the draft's extra rows."""
