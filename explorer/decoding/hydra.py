"""Hydra (Ankner et al. 2024, arXiv 2402.05109): Medusa whose heads see the path they continue.

The node at rank path (r₁, …, r_d) holds the rank-r_d prediction of head d, given the tokens from
the root down to the node's parent. So the tree is filled depth by depth, one pass of head d over
all nodes that have children there.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import lru_cache

import torch

from explorer.decoding.drafter import Context, Draft, Drafter, DraftRecord
from explorer.decoding.dynamic import TOP, DynamicTree
from explorer.decoding.registry import DrafterInputs
from explorer.decoding.tree import Tree, cut, require_fit
from explorer.heads.hydra import HydraHeads
from explorer.records.rank_paths import RankPath
from explorer.records.settings import DecodeSettings

BEAM = 8  # nodes of a depth that a dynamic tree looks for children of
CHILD_RATIO = 0.5  # typical ratio of the best child's joint probability to its parent's


def make_drafter(inputs: DrafterInputs, settings: DecodeSettings) -> Drafter:
    """The drafter for the tree asked for."""
    assert isinstance(inputs.heads, HydraHeads)  # methods.find_method looks for them
    if isinstance(inputs.tree, DynamicTree):
        return DynamicHydraDrafter(inputs.heads, inputs.tree)
    return HydraDrafter(inputs.heads, inputs.tree)


class HydraDrafter(Drafter):
    """Fills a fixed tree. Raises ExplorerError if it does not fit the heads."""

    def __init__(self, heads: HydraHeads, tree: Tree) -> None:
        require_fit(tree, heads.config.num_heads, heads.config.output_size)
        self.heads = heads
        self.tree = tree
        self.top = max(TOP, tree.width)

    def draft(self, context: Context) -> Draft:
        """The tree, cut where the text must end, with the heads' tokens at its nodes."""
        tree = cut(self.tree, context.max_depth)
        tokens = torch.full((tree.n,), context.root)
        probs, below = torch.ones(tree.n), {}
        for level in levels(tree):
            ids, guessed = self.heads.propose_next(context.hidden, tokens[level.paths], self.top)
            ids, guessed = ids.cpu(), guessed.cpu()  # [m, top]
            tokens[level.children] = ids[level.parent, level.rank]
            probs[level.children] = guessed[level.parent, level.rank]
            below |= {row: (ids[i], guessed[i]) for i, row in enumerate(level.rows)}
        context.lap("heads")
        return Draft(tree, tokens, probs, record=DraftRecord(below=below))


@dataclass(frozen=True)
class Level:
    """The nodes of one depth that have children, and these children.

    rows      row of each of the m parents
    paths     [m, depth + 1] rows from the root down to each parent
    children  [c] rows of all their children
    parent    [c] index among the m parents; rank [c] of the child among its parent's predictions
    """

    rows: list[int]
    paths: torch.Tensor
    children: torch.Tensor
    parent: torch.Tensor
    rank: torch.Tensor


@lru_cache(maxsize=256)
def levels(tree: Tree) -> tuple[Level, ...]:
    """The state of a draft, depth by depth."""
    found = []
    for depth in range(tree.depth):
        rows = [row for row in range(tree.n) if tree.depths[row] == depth and tree.children[row]]
        children = [child for row in rows for child in tree.children[row]]
        found.append(
            Level(
                rows=rows,
                paths=torch.tensor([tree.path_to(row) for row in rows]),
                children=torch.tensor(children),
                parent=torch.tensor([i for i, row in enumerate(rows) for _ in tree.children[row]]),
                rank=tree.ranks[children],
            )
        )
    return tuple(found)


@dataclass(frozen=True)
class _Guess:
    """A node that was guessed: its rank path, tokens from the root to it, and probabilities."""

    path: RankPath
    tokens: tuple[int, ...]
    prob: float
    joint: float


class DynamicHydraDrafter(Drafter):
    """The likeliest nodes among those that Hydra heads reach from the best of every depth.

    With prices, the next head is asked only for children of nodes that can be worth it.
    """

    def __init__(self, heads: HydraHeads, tree: DynamicTree) -> None:
        self.heads = heads
        self.tree = tree
        self.min_joint = 0.0  # lowest chance of a node whose children can be worth it
        if tree.prices:
            price = tree.prices.min_each[0] + tree.prices.depth
            self.min_joint = price / (tree.trust * CHILD_RATIO)

    def draft(self, context: Context) -> Draft:
        """This step's tree, no deeper than the text may grow."""
        frontier = [_Guess((), (context.root,), 1.0, 1.0)]
        guesses, offered = [], {}
        for _ in range(min(self.heads.config.num_heads, context.max_depth)):
            paths = torch.tensor([guess.tokens for guess in frontier])
            ids, probs = (t.cpu() for t in self.heads.propose_next(context.hidden, paths, TOP))
            offered |= {guess.path: (ids[i], probs[i]) for i, guess in enumerate(frontier)}
            level = _continued(frontier, ids.tolist(), probs.tolist())
            guesses += level
            best = heapq.nlargest(BEAM, level, key=lambda guess: guess.joint)
            frontier = [guess for guess in best if guess.joint > self.min_joint]
            if not frontier:
                break
        context.lap("heads")
        # Parents come before their children, so of equal joints the parent is kept.
        guesses.sort(key=lambda guess: -guess.joint)
        chosen = self.tree.choose((guess.joint, guess) for guess in guesses)
        tree, worth = self.tree.tree(guess.path for guess in chosen)
        by_path = {guess.path: guess for guess in chosen}
        nodes = [by_path[path] for path in tree.paths]
        tokens = torch.tensor([context.root, *(guess.tokens[-1] for guess in nodes)])
        probs = torch.tensor([1.0, *(guess.prob for guess in nodes)])
        below = {
            row: offered[path] for row, path in enumerate(((), *tree.paths)) if path in offered
        }
        return Draft(tree, tokens, probs, record=DraftRecord(below=below, worth=worth))


def _continued(
    frontier: list[_Guess], ids: list[list[int]], probs: list[list[float]]
) -> list[_Guess]:
    """Every guess of the frontier with every prediction after it: ids, probs [m][top]."""
    return [
        _Guess((*guess.path, rank), (*guess.tokens, token), prob, guess.joint * prob)
        for guess, tokens, chances in zip(frontier, ids, probs, strict=True)
        for rank, (token, prob) in enumerate(zip(tokens, chances, strict=True))
    ]
