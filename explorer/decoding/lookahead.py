"""Lookahead decoding (Fu et al. 2024, arXiv 2402.02057): the base model drafts for itself.

Greedy decoding is the solution of "every token is the argmax after the ones before it", and all
its equations can be iterated at once from any guess (Jacobi). Each pass has two branches:

lookahead  a window of W positions × N − 1 levels, the guesses of the last N − 1 iterations. Level
           l, column j stands at position root + l + j. It sees column j's older levels and, of the
           oldest level, the columns up to j; so column j reads like text, and the newest level's
           predictions end W n-grams, which go into a pool. Column 0 of the oldest level is the
           root itself.
verify     up to G n-grams of the pool that begin with the root, as a candidate tree.

The lookahead rows follow the tree's in the same pass and are never committed. Whatever they
guess, acceptance asks the base model, so the method is lossless, under sampling as well.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch

from explorer.decoding.drafter import Context, Draft, Drafter, DraftRecord, ExtraRows
from explorer.decoding.registry import DrafterInputs
from explorer.decoding.tree import Tree
from explorer.records.rank_paths import RankPath
from explorer.records.settings import DecodeSettings
from explorer.records.step import LookaheadState


def make_drafter(inputs: DrafterInputs, settings: DecodeSettings) -> Drafter:
    """The drafter of a run."""
    return LookaheadDrafter(
        settings.lookahead_window,
        settings.lookahead_ngram,
        settings.lookahead_guesses,
        settings.seed,
    )


class LookaheadDrafter(Drafter):
    """W = window, N = ngram, G = guesses. The seed fills the first window, with tokens of the text.

    Near the end of the text, where its positions would lie beyond it, there is no window.
    """

    def __init__(self, window: int, ngram: int, guesses: int, seed: int = 0) -> None:
        self.pool = Pool(guesses)
        self._width, self._levels = window, ngram - 1
        self._offsets, self._mask = branch(self._width, self._levels)
        self._random = np.random.default_rng(seed)
        self.window: list[list[int]] = []  # [levels][W], oldest level first

    def draft(self, context: Context) -> Draft:
        """The pool's guesses after the root as a tree, and the window's rows."""
        guesses = self.pool.after(context.root)
        shortened = [guess[: context.max_depth] for guess in guesses if context.max_depth]
        tree, tokens = guess_tree(context.root, shortened)
        extra = None
        if context.max_depth >= self._width + self._levels - 1:
            self._place(context.text)
            extra = self._extra(tree.n)
        state = LookaheadState(
            window=[list(level) for level in self.window] if extra else [],
            guesses=guesses,
            pool_size=self.pool.size,
        )
        probs, record = torch.ones(tree.n), DraftRecord(lookahead=state)
        return Draft(tree, torch.tensor(tokens), probs, extra=extra, record=record)

    def _place(self, text: list[int]) -> None:
        """Place the window after the text: its corner is the root."""
        if not self.window:
            filling = self._random.choice(text, (self._levels, self._width))
            self.window = filling.tolist()
        self.window[0][0] = text[-1]

    def _extra(self, n: int) -> ExtraRows:
        """The window's rows, its corner left out: that is the tree's root, row 0 of the pass."""
        rows = [token for level in self.window for token in level][1:]
        mask = torch.zeros(len(rows), n + len(rows), dtype=torch.bool)
        mask[:, 0] = True
        mask[:, n:] = self._mask
        return ExtraRows(torch.tensor(rows), self._offsets, mask, self._width)

    def update(self, logits: torch.Tensor) -> None:
        """The newest level's predictions [W, V]: n-grams for the pool, and the next level."""
        newest = logits.argmax(dim=-1).tolist()
        for column in zip(*self.window, newest, strict=True):
            self.pool.add(list(column))
        self.window = [*self.window[1:], newest]


class Pool:
    """The n-grams that came up, by their first token: the latest `most` for each."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._behind: dict[int, list[list[int]]] = {}
        self.size = 0

    def add(self, ngram: list[int]) -> None:
        """Take an n-gram in as the latest."""
        known = self._behind.setdefault(ngram[0], [])
        self.size -= len(known)
        if ngram[1:] in known:
            known.remove(ngram[1:])
        known.insert(0, ngram[1:])
        del known[self._most :]
        self.size += len(known)

    def after(self, token: int) -> list[list[int]]:
        """What may follow `token`, the latest first: lists of N − 1 tokens."""
        return [list(guess) for guess in self._behind.get(token, ())]


def branch(width: int, levels: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Offsets [m] and mask [m, m] of the window's rows, level by level, without its corner."""
    level, column = (
        t.flatten()[1:]
        for t in torch.meshgrid(torch.arange(levels), torch.arange(width), indexing="ij")
    )
    oldest = (level == 0) & (column <= column[:, None])  # of the oldest level, all up to j
    own = (column == column[:, None]) & (level <= level[:, None])  # of column j, what is older
    return level + column, oldest | own


def guess_tree(root: int, guesses: list[list[int]]) -> tuple[Tree, list[int]]:
    """Guesses merged at common beginnings: the tree, and its rows' tokens.

    Two children of a node never hold the same token: only one of them could be followed.
    """
    token_at: dict[RankPath, int] = {}
    children: dict[RankPath, dict[int, RankPath]] = {}
    for guess in guesses:
        path: RankPath = ()
        for token in guess:
            known = children.setdefault(path, {})
            path = known.setdefault(token, (*path, len(known)))
            token_at[path] = token
    tree = _shape(tuple(token_at))
    return tree, [root, *(token_at[path] for path in tree.paths)]


@lru_cache(maxsize=512)
def _shape(paths: tuple[RankPath, ...]) -> Tree:
    return Tree(paths, "guesses")
