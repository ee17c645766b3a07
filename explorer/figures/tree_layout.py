"""Where the nodes of a candidate tree stand: root at the left, a line of text for each leaf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Layout:
    """Per row its column (depth) and its line; `lines` is the height of the whole."""

    columns: list[int]
    lines: list[int]
    height: int


def tidy(parents: Sequence[int]) -> Layout:
    """Lay out a tree given by parents (−1 for row 0, parents before children).

    A node stands on the line of its first child, so a chain is a straight line and no label
    crosses a sibling's branch. Iterative: trees may be 512 deep.
    """
    children: list[list[int]] = [[] for _ in parents]
    columns = [0] * len(parents)
    for row, parent in enumerate(parents):
        if parent >= 0:
            children[parent].append(row)
            columns[row] = columns[parent] + 1
    lines = [0] * len(parents)
    leaves = 0
    stack = [0]
    first_line: list[tuple[int, int]] = []
    while stack:
        row = stack.pop()
        if children[row]:
            first_line.append((row, leaves))
            stack.extend(reversed(children[row]))
        else:
            lines[row] = leaves
            leaves += 1
    for row, line in first_line:
        lines[row] = line
    return Layout(columns, lines, leaves)
