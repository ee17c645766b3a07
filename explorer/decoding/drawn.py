"""Medusa with candidates drawn from the heads, not their best guesses.

Head d's candidates are drawn without replacement from its distribution, under the temperature,
top-k and top-p of the run, and judged by multi-candidate rejection sampling (SpecInfer, Miao et al.
2024; Sequoia, Chen et al. 2024): the first with probability min(1, p/q), the next against what the
rejection left of p and q. That is lossless only because they are draws.
"""

from __future__ import annotations

import torch

from explorer.decoding.drafter import Context, Draft, Drafter, DraftRecord, Proposals, bare_root
from explorer.decoding.dynamic import TOP
from explorer.decoding.sampling import Draws, distribution, drafting, without
from explorer.decoding.tree import Tree, cut, require_fit
from explorer.heads.heads import MedusaHeads
from explorer.records.settings import DecodeSettings


class DrawnMedusaDrafter(Drafter):
    """Fills the tree with draws: a node's i-th child holds the i-th draw from its head.

    By its place among its siblings and not by its rank, so that no draw that was skipped is left
    unjudged. Raises ExplorerError if the tree does not fit the heads.
    """

    def __init__(
        self, heads: MedusaHeads, tree: Tree, settings: DecodeSettings, positions: int
    ) -> None:
        require_fit(tree, heads.config.num_heads, heads.config.output_size)
        self.heads = heads
        self.tree = tree
        self._settings = settings
        self.draws = Draws(settings.seed, positions + 1)

    def draft(self, context: Context) -> Draft:
        """The tree, cut where the text must end, with drawn tokens at its nodes."""
        tree = cut(self.tree, context.max_depth)
        if tree.n == 1:
            return bare_root(context.root)
        logits = self.heads.draft_logits(context.hidden)[:, 0]  # [K, V']
        context.lap("heads")
        q = self._distributions(logits[: tree.depth])  # q[d − 1] of depth d
        families = max(map(len, tree.children))
        drawn = [
            self._without_replacement(q[d], families, len(context.text) + d)
            for d in range(tree.depth)
        ]
        tokens, probs = [context.root] * tree.n, [1.0] * tree.n
        for row, depth in enumerate(tree.depths.tolist()):
            for place, child in enumerate(tree.children[row]):
                tokens[child], probs[child] = drawn[depth][place]
        proposals: Proposals = [q[d] if d < tree.depth else None for d in tree.depths.tolist()]
        record = DraftRecord(heads=self.heads.best(logits, TOP))
        return Draft(tree, torch.tensor(tokens), torch.tensor(probs), proposals, record=record)

    def _distributions(self, logits: torch.Tensor) -> torch.Tensor:
        """What heads' logits [d, V'] are drawn as, over the full vocabulary: [d, V]."""
        probs = distribution(logits, self._settings)
        if self.heads.token_map is None:
            return probs
        full = probs.new_zeros(len(probs), self.heads.config.vocab_size)
        full[:, self.heads.token_map] = probs
        return full

    def _without_replacement(
        self, q: torch.Tensor, count: int, position: int
    ) -> list[tuple[int, float]]:
        """`count` draws from q [V], with the probability that each had.

        Where q holds fewer tokens, the last draw is repeated as filling, which the rule skips.
        """
        drawn: list[tuple[int, float]] = []
        for candidate in range(count):
            if not q.any():
                drawn.append((drawn[-1][0], 0.0))
                continue
            token = self.draws(q, position, drafting(candidate))
            drawn.append((token, float(q[token])))
            q = without(q, token)
        return drawn
