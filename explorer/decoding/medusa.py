"""Medusa (Cai et al. 2024, arXiv 2401.10774): heads on the last hidden state fill a fixed tree.

Head k, reading the hidden state that chose the root, predicts the token k places after the root.
The node at rank path (r₁, …, r_d) holds the rank-r_d prediction of head d (section 2.1.2).
"""

from __future__ import annotations

from explorer.decoding.drawn import DrawnMedusaDrafter
from explorer.decoding.dynamic import DynamicMedusaDrafter, DynamicTree
from explorer.decoding.filling import TOP, cut, filled
from explorer.decoding.kit import Kit
from explorer.decoding.loop import Context, Draft, Drafter, Stopwatch
from explorer.decoding.tree import Tree, require_fit
from explorer.heads.heads import MedusaHeads
from explorer.records.errors import ExplorerError
from explorer.records.settings import DecodeSettings


def make_drafter(kit: Kit, settings: DecodeSettings) -> Drafter:
    """The drafter for the tree and the candidates asked for. Raises ExplorerError."""
    if settings.candidates == "drawn":
        if isinstance(kit.tree, DynamicTree):
            raise ExplorerError(
                "Drawn candidates need a fixed tree: choose fixed or a named shape."
            )
        return DrawnMedusaDrafter(kit.heads, kit.tree, settings, kit.model.context_length)
    if isinstance(kit.tree, DynamicTree):
        return DynamicMedusaDrafter(kit.heads, kit.tree)
    return MedusaDrafter(kit.heads, kit.tree)


class MedusaDrafter:
    """Fills the same tree from the heads at every step.

    Raises ExplorerError if the tree is deeper than the heads or wider than their vocabulary.
    """

    def __init__(self, heads: MedusaHeads, tree: Tree) -> None:
        self.heads = heads
        self.tree = tree
        self.top = max(TOP, tree.width)
        require_fit(tree, heads.config.num_heads, heads.config.output_size)

    def draft(self, context: Context, clock: Stopwatch) -> Draft:
        """The tree, cut where the text must end, with the heads' tokens at its nodes."""
        tree = cut(self.tree, context.max_depth)
        ids, probs = (t[0].cpu() for t in self.heads.propose(context.hidden, self.top))  # [K, top]
        clock.lap("heads")
        return filled(tree, context.root, ids, probs)
