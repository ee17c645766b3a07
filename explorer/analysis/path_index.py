"""Which rank paths were right where in recorded text, numbered so that trees are looked up at once.

Rank rows are those of joint_counts.py: [positions, heads], with a negative entry where the true
token was not among a head's guesses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from explorer.records.rank_paths import RankPath

MISS = -1  # the true token is not among the recorded predictions


class PathIndex:
    """The right rank paths of several texts.

    Made once for any number of trees: a tree is then replayed in the time that it takes to walk
    through all texts at once, a millisecond for 500 texts of 60 positions.

    rows [positions, heads]: the rank rows of all texts, one text after the other.
    """

    def __init__(self, texts: Iterable[np.ndarray]) -> None:
        texts = list(texts)
        heads = max((text.shape[1] for text in texts if len(text)), default=0)
        missing = [heads - text.shape[1] for text in texts if len(text)]
        rows = [
            np.pad(text, ((0, 0), (0, more)), constant_values=MISS)
            for text, more in zip(filter(len, texts), missing, strict=True)
        ]
        self._numbers: dict[RankPath, int] = {}
        self.rows = np.concatenate(rows or [np.empty((0, heads), np.int64)])
        self._found = self._numbered(self.rows)
        self._ends = np.cumsum([len(text) for text in texts], dtype=np.int64)

    def _numbered(self, rows: np.ndarray) -> np.ndarray:
        """[positions, heads]: the number of the path that was right down to each depth, or 0."""
        rows, which = np.unique(rows, axis=0, return_inverse=True)
        found = np.zeros(rows.shape, dtype=np.int64)
        for i, row in enumerate(map(tuple, rows.tolist())):
            for depth in range(len(row)):
                if row[depth] < 0:
                    break
                path = row[: depth + 1]
                found[i, depth] = self._numbers.setdefault(path, len(self._numbers) + 1)
        return found[which.reshape(-1)]

    def counts(self, at: np.ndarray | None = None) -> dict[RankPath, int]:
        """How often each path was right, if ever; with `at`, bool [positions], only there."""
        found = self._found if at is None else self._found[at]
        times = np.bincount(found.ravel(), minlength=len(self._numbers) + 1).tolist()
        return {path: times[number] for path, number in self._numbers.items() if times[number]}

    def places(self, order: Sequence[RankPath]) -> np.ndarray:
        """The place in `order` of the node that holds the true token, [positions, heads].

        The positions of all texts, one text after the other. Where no node holds it, here or
        above, it is the number of nodes. Parents come first in `order`.
        """
        place = np.full(len(self._numbers) + 1, len(order))
        for index, path in enumerate(order):
            number = self._numbers.get(tuple(path))
            if number is not None:
                place[number] = index
        return np.maximum.accumulate(place[self._found], axis=1)

    def starts(self, accepted: np.ndarray) -> np.ndarray:
        """Whether a step starts at each position, bool [positions], all texts walked at once.

        accepted [positions]: how many drafts a step from there accepts. The next step starts
        after what the last one wrote.
        """
        visited = np.zeros(len(accepted), dtype=bool)
        ends = self._ends
        at = np.concatenate([[0], ends[:-1]])[: len(ends)]
        while len(at):
            inside = at < ends
            at, ends = at[inside], ends[inside]
            visited[at] = True
            at = at + 1 + accepted[at]
        return visited

    def split(self, rows: np.ndarray) -> list[np.ndarray]:
        """What belongs to each text, of something with an entry for each position."""
        return np.split(rows, self._ends[:-1]) if len(self._ends) else []

    def steps(self, tree: Iterable[RankPath]) -> list[list[int]]:
        """Per text, the tokens of every step that greedy decoding with a tree would take."""
        order = list(tree)
        accepted = accepted_by(self.places(order), len(order))
        starts = self.split(self.starts(accepted))
        parts = zip(self.split(1 + accepted), starts, strict=True)
        return [tokens[begins].tolist() for tokens, begins in parts]


def accepted_by(places: np.ndarray, nodes: int) -> np.ndarray:
    """How many drafts a step from each position accepts with the first `nodes` nodes, [positions].

    `places` as from `PathIndex.places`.
    """
    return (places < nodes).sum(axis=1)


def walk(accepted: np.ndarray) -> list[int]:
    """Tokens of the steps of a run whose step from position t accepts `accepted[t]` drafts.

    The next step starts after what the last one wrote.
    """
    jumps = (1 + accepted).tolist()
    steps: list[int] = []
    at = 0
    while at < len(jumps):
        steps.append(jumps[at])
        at += jumps[at]
    return steps
