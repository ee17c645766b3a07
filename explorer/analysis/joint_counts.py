"""Joint counts: how often several heads were right together, on recorded text.

At a position t the base model's own token t+1 is the root; head k is right at rank r if its r-th
prediction is the token t+1+k that followed. So one row of ranks describes a position, and the rank
path (r₁, …, r_d) is right there iff the row starts with it. Counting rows keeps the correlation
that a product of accuracies loses: where head 1 is right, head 2 is right more often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from explorer.analysis.path_index import MISS, PathIndex, accepted_by
from explorer.records.rank_paths import RankPath
from explorer.records.schema import Trace
from explorer.records.step import Position

Found = TypeVar("Found")


@dataclass(frozen=True)
class JointCounts:
    """How often each rank path was right, over all positions.

    `counts` holds only paths that were right at least once; `accuracy[k][r]` is how often rank r
    of head k+1 was right, regardless of the other heads.
    """

    positions: int
    counts: dict[RankPath, int]
    accuracy: list[list[float]]

    def success(self, path: RankPath) -> float:
        """Share of positions at which the whole path was right; 0 for a path never seen right."""
        return self.counts.get(tuple(path), 0) / self.positions if self.positions else 0.0

    def tokens_per_step(self, paths: Iterable[RankPath]) -> float:
        """τ = 1 + Σ success over a tree's nodes, if steps started at all positions equally."""
        return 1.0 + sum(map(self.success, paths))


@dataclass(frozen=True)
class RankedText:
    """The rank rows of one text, [positions, heads], and how many tokens stand before the first.

    If recorded, `probs` are the heads' probabilities of their guesses, best first:
    [positions][heads][top].
    """

    rows: np.ndarray
    before: int
    probs: Sequence[Sequence[Sequence[float]]] | None = None


def rows_near(
    texts: Iterable[RankedText], context: int, contexts: Sequence[int]
) -> list[np.ndarray]:
    """The rows of each text whose context length is closest to `context` on a log scale.

    The accuracy of heads depends on the context length.
    """
    ordered = sorted({*contexts, context})
    at = ordered.index(context)
    low = np.sqrt(ordered[at - 1] * context) if at else 0
    high = np.sqrt(ordered[at + 1] * context) if at + 1 < len(ordered) else np.inf
    parts = []
    for text in texts:
        length = text.before + np.arange(len(text.rows))
        parts.append(text.rows[(low <= length) & (length < high)])
    return [part for part in parts if len(part)]


def rank_rows(trace: Trace) -> np.ndarray:
    """The rank of the true token at every recorded position: [positions, heads], MISS if beyond.

    Rows are consecutive positions, the last prompt token first. Positions with targets beyond the
    end of the text are not included, nor is anything after a gap in the record.
    """
    last = trace.steps[-1].bonus if trace.steps else None
    tokens = [*trace.header.prompt_ids, *trace.new_token_ids]
    if last is not None and not _ended(trace):
        tokens.append(last)
    rows: list[list[int]] = []
    first = len(trace.header.prompt_ids) - 1
    for position in ordered_positions(trace):
        row = _rank_row(position, tokens, trace.header.num_heads)
        if row is None or position.index != first + len(rows):
            break
        rows.append(row)
    width = trace.header.num_heads
    return np.array(rows, dtype=np.int16).reshape(len(rows), width)


def ranked_text(trace: Trace) -> RankedText:
    """The rank rows of a trace, and the heads' probabilities of their guesses."""
    rows = rank_rows(trace)
    positions = ordered_positions(trace)[: len(rows)]
    probs = [[head.probs for head in position.heads] for position in positions]
    return RankedText(rows, len(trace.header.prompt_ids) - 1, probs)


def _ended(trace: Trace) -> bool:
    """Whether the text ends in an end-of-sequence token: predictions after it do not count."""
    text = trace.new_token_ids
    return bool(text) and text[-1] in trace.header.eos_ids


def ordered_positions(trace: Trace) -> list[Position]:
    """All recorded positions in the order of the text; steps may record them late."""
    found = [position for step in trace.steps for position in step.positions]
    if trace.header.prompt_position is not None:
        found.append(trace.header.prompt_position)
    return sorted(found, key=lambda position: position.index)


def _rank_row(position: Position, tokens: Sequence[int], num_heads: int) -> list[int] | None:
    """Ranks of the true tokens, or None if one of them is not known."""
    if len(position.heads) < num_heads:  # heads that see their path, near the end of the text
        return None
    row = []
    for k, head in enumerate(position.heads, start=1):
        target = position.index + 1 + k
        if target >= len(tokens):
            return None
        row.append(head.ids.index(tokens[target]) if tokens[target] in head.ids else MISS)
    return row


def count_paths(texts: Iterable[np.ndarray], width: int) -> JointCounts:
    """Joint counts over the rank rows of several texts, each [positions, heads].

    `width` is how many predictions per head were kept.
    """
    return counts_at(PathIndex(texts), width)


def counts_at(index: PathIndex, width: int, at: np.ndarray | None = None) -> JointCounts:
    """Joint counts over indexed texts; with `at`, bool [positions], only at those positions."""
    rows = index.rows if at is None else index.rows[at]
    if not len(rows):
        return JointCounts(0, {}, [])
    accuracy = [
        (np.bincount(column[column >= 0], minlength=width)[:width] / len(rows)).tolist()
        for column in rows.T
    ]
    return JointCounts(len(rows), index.counts(at), accuracy)


def replayed_tokens_per_step(texts: Iterable[np.ndarray], paths: Iterable[RankPath]) -> float:
    """τ that greedy decoding with the tree `paths` would reach on these texts.

    Steps start where the last one failed, on harder tokens than the average; joint counts over
    all positions do not show that. 1.0 if there is nothing to replay.
    """
    paths = list(paths)
    return GrowingReplay(PathIndex(texts), paths).tokens_per_step(len(paths))


class GrowingReplay:
    """`replayed_tokens_per_step` of every tree that grows node by node in a given order.

    It looks up once which node each position's true path needs, so that a tree of any size is
    replayed in milliseconds. Parents come before their children in `order`.
    """

    def __init__(self, index: PathIndex, order: Sequence[RankPath]) -> None:
        self._index = index
        self._places = index.places(order)

    def tokens_per_step(self, nodes: int) -> float:
        """τ with the first `nodes` nodes of the order; 1.0 if there is nothing to replay."""
        accepted = accepted_by(self._places, nodes)
        starts = self._index.starts(accepted)
        return float(1 + accepted[starts].mean()) if starts.any() else 1.0


def replayed_steps(text: np.ndarray, tree: set[RankPath]) -> list[int]:
    """Tokens of every step that greedy decoding with `tree` would take on a text of rank rows."""
    return PathIndex([text]).steps(tree)[0]


def steps_through(text: np.ndarray, tree_at: Callable[[int], set[RankPath]]) -> list[int]:
    """Tokens of every step on a text of rank rows, with the tree `tree_at(row)` in the step there.

    Exact where the text is a greedy one: a step from position t accepts the longest beginning of
    row t that is in the tree, and the next step starts after it.
    """
    rows = list(map(tuple, text.tolist()))
    steps: list[int] = []
    at = 0
    while at < len(rows):
        steps.append(1 + accepted_depth(rows[at], tree_at(at)))
        at += steps[-1]
    return steps


def visited_rows(texts: Iterable[np.ndarray], paths: Iterable[RankPath]) -> list[np.ndarray]:
    """The rank rows at which the steps of a replay with the tree `paths` start, text by text."""
    texts = list(texts)
    index = PathIndex(texts)
    starts = visited(index, paths)
    return [text[begins] for text, begins in zip(texts, index.split(starts), strict=True)]


def visited(index: PathIndex, paths: Iterable[RankPath]) -> np.ndarray:
    """Where the steps of a replay with the tree `paths` start: bool [positions]."""
    order = [tuple(path) for path in paths]
    return index.starts(accepted_by(index.places(order), len(order)))


def searches(
    index: PathIndex,
    width: int,
    search: Callable[[JointCounts], Found],
    paths_of: Callable[[Found], Iterable[RankPath]],
    repeats: int,
) -> list[Found]:
    """The result of `search` on the counts at all positions, then `repeats` times at some.

    A tree's steps do not start at all positions, but after the tokens of the step before. So the
    search is repeated on the positions that the last result would visit.
    """
    found = [search(counts_at(index, width))]
    for _ in range(repeats):
        starts = visited(index, paths_of(found[-1]))
        found.append(search(counts_at(index, width, starts)))
    return found


def accepted_depth(row: RankPath, tree: set[RankPath]) -> int:
    """How many drafts a step accepts at a position with this rank row."""
    depth = 0
    while depth < len(row) and row[: depth + 1] in tree:
        depth += 1
    return depth
