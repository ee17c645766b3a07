"""A tree as the four buffers of other Medusa engines, to compare with their code.

They are those of `generate_medusa_buffers` in FasterDecoding/Medusa, for TOP guesses of each head.
Rows are the root and the nodes, by depth and then by rank path.
"""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel as Schema
from pydantic import ConfigDict

from explorer.records.rank_paths import RankPath

TOP = 10  # guesses of a head that stand side by side in the candidates
PADDING = -1


class TreeBuffers(Schema):
    """attention_mask [n][n] of 0 and 1; position_ids [n], offsets to the prefix's length;
    tree_indices [n], places in the row of candidates (the root, then TOP of each head);
    retrieve_indices [leaves][depth + 1], the rows of each path, padded with −1."""

    model_config = ConfigDict(frozen=True)

    attention_mask: list[list[int]]
    position_ids: list[int]
    tree_indices: list[int]
    retrieve_indices: list[list[int]]


def tree_buffers(paths: Iterable[RankPath]) -> TreeBuffers:
    """The buffers of a valid tree."""
    ordered = [(), *sorted(map(tuple, paths), key=lambda path: (len(path), path))]
    row = {path: i for i, path in enumerate(ordered)}
    above = [[row[path[:d]] for d in range(len(path) + 1)] for path in ordered]
    inner = {path[:-1] for path in ordered if path}
    leaves = [path for path in reversed(ordered) if path not in inner]
    depth = max(map(len, ordered))
    return TreeBuffers(
        attention_mask=[[int(j in set(seen)) for j in range(len(ordered))] for seen in above],
        position_ids=[len(path) for path in ordered],
        tree_indices=[path[-1] + TOP * (len(path) - 1) + 1 if path else 0 for path in ordered],
        retrieve_indices=[above[row[leaf]] + [PADDING] * (depth - len(leaf)) for leaf in leaves],
    )
