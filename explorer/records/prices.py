"""What a node of a tree costs on a machine, in tokens (decoding/dynamic.py)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Prices:
    """The prices of nodes, in tokens that would be written in the same time.

    rows[k]  verifying k nodes besides the root instead of the root alone; rows[0] is 0
    depth    asking one head more, where heads draft one after the other
    """

    rows: tuple[float, ...]
    depth: float = 0.0

    @cached_property
    def min_each(self) -> tuple[float, ...]:
        """[k]: min over m > k of (rows[m] − rows[k]) / (m − k), a lower bound on the price of each
        node after the k-th."""
        count = len(self.rows)
        return tuple(
            min((self.rows[b] - self.rows[k]) / (b - k) for b in range(k + 1, count))
            for k in range(count - 1)
        )
