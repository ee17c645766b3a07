"""Medusa (Cai et al. 2024, arXiv 2401.10774): heads on the last hidden state fill a tree.

Head k, reading the hidden state that chose the root, predicts the token k places after the root.
The node at rank path (r₁, …, r_d) holds the rank-r_d prediction of head d (section 2.1.2).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from explorer.decoding.drafter import Context, Draft, Drafter, DraftRecord
from explorer.decoding.drawn import DrawnMedusaDrafter
from explorer.decoding.dynamic import TOP, DynamicTree, by_likelihood
from explorer.decoding.registry import DrafterInputs
from explorer.decoding.tree import Tree, cut, require_fit
from explorer.heads.heads import MedusaHeads
from explorer.records.errors import ExplorerError
from explorer.records.settings import DecodeSettings


def make_drafter(inputs: DrafterInputs, settings: DecodeSettings) -> Drafter:
    """The drafter for the tree and the candidates asked for. Raises ExplorerError."""
    assert inputs.heads is not None  # methods.find_method looks for them
    if settings.candidates == "top":
        return MedusaDrafter(inputs.heads, inputs.tree)
    if isinstance(inputs.tree, DynamicTree):
        raise ExplorerError("Drawn candidates need a fixed tree: choose fixed or a named shape.")
    return DrawnMedusaDrafter(inputs.heads, inputs.tree, settings, inputs.model.context_length)


class MedusaDrafter(Drafter):
    """Fills a fixed tree, or one that is chosen in every step, from the heads' predictions.

    Raises ExplorerError if a fixed tree is deeper than the heads or wider than their vocabulary.
    """

    def __init__(self, heads: MedusaHeads, tree: Tree | DynamicTree) -> None:
        self.heads = heads
        self.tree = tree
        self._guesses: Sequence[torch.Tensor] = ()  # ids and probabilities made ahead
        self.top = max(TOP, tree.width) if isinstance(tree, Tree) else TOP
        if isinstance(tree, Tree):
            require_fit(tree, heads.config.num_heads, heads.config.output_size)

    def look_ahead(self, hidden: torch.Tensor) -> Sequence[torch.Tensor]:
        """The heads' guesses, which need no root."""
        return self.heads.propose(hidden, self.top)

    def arrived(self, tensors: Sequence[torch.Tensor]) -> None:
        """Keep them for the draft."""
        self._guesses = tensors

    def draft(self, context: Context) -> Draft:
        """The tree, no deeper than the text may grow, with the heads' tokens at its nodes."""
        guesses = self._guesses or self.heads.propose(context.hidden, self.top)
        ids, probs = (guess[0].cpu() for guess in guesses)  # [K, top]
        self._guesses = ()
        context.lap("heads")
        guessed, chances = ids.tolist(), probs.tolist()
        if isinstance(self.tree, Tree):
            tree, worth = cut(self.tree, context.max_depth), None
        else:
            guesses = by_likelihood(chances[: context.max_depth])
            tree, worth = self.tree.tree(self.tree.choose(guesses))
        # Head d fills depth d. As lists: for so few numbers a tensor's operations take far longer.
        tokens = [context.root, *(guessed[len(path) - 1][path[-1]] for path in tree.paths)]
        own = [1.0, *(chances[len(path) - 1][path[-1]] for path in tree.paths)]
        record = DraftRecord(heads=(ids, probs), worth=worth)
        return Draft(tree, torch.tensor(tokens), torch.tensor(own), record=record)
