"""One step as the figures see it: its records and what they refer to, looked up once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from explorer.records.errors import ExplorerError
from explorer.records.piece import Piece, shortened
from explorer.records.schema import Trace, TreeShape
from explorer.records.step import Step
from explorer.records.text import piece_of


@dataclass(frozen=True)
class StepView:
    """A step with its tree and the tokens' text."""

    step: Step
    shape: TreeShape
    pieces: Mapping[int, Piece]

    @cached_property
    def parents(self) -> list[int]:
        """Row of each row's parent; −1 for the root."""
        return self.shape.parents

    @cached_property
    def depths(self) -> list[int]:
        """Depth of each row."""
        return self.shape.depths

    @property
    def rows(self) -> int:
        """n: rows of the verify pass."""
        return len(self.step.token_ids)

    def token(self, token_id: int, limit: int = 40) -> str:
        """A token's label."""
        return shortened(piece_of(self.pieces, token_id).label, limit)

    def label(self, row: int, limit: int = 40) -> str:
        """The label of the token in a row."""
        return self.token(self.step.token_ids[row], limit)

    def rank(self, row: int) -> int:
        """Which guess of its head the row holds; 0 is the head's first."""
        return self.shape.paths[row - 1][-1] if row else 0

    def path(self, row: int) -> tuple[int, ...]:
        """The rank path of a row; () for the root."""
        return tuple(self.shape.paths[row - 1]) if row else ()

    def ancestors(self, row: int) -> list[int]:
        """Rows from the root to `row`, both included."""
        path = [row]
        while (row := self.parents[row]) >= 0:
            path.append(row)
        return path[::-1]


def step_view(trace: Trace, index: int) -> StepView:
    """The view of step `index`, as in `step_number`. Raises ExplorerError."""
    step = trace.steps[step_number(trace.steps, index)]
    return StepView(step, trace.trees[step.tree], trace.pieces)


def step_number(steps: Sequence[Step], index: int) -> int:
    """The step meant by `index`: from 0, or from the end, −1 the last. Raises ExplorerError."""
    if not -len(steps) <= index < len(steps):
        have = f"has the steps 0 to {len(steps) - 1}" if steps else "has no steps"
        raise ExplorerError(f"There is no step {index}: this trace {have}.")
    return index % len(steps)
