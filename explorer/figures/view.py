"""One step as the figures see it: its records and what they refer to, looked up once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Protocol

from explorer.tracing.schema import Header, Piece, PlainToken, Step, TopTokens, TreeShape
from explorer.tracing.text import piece_of, visible


class Run(Protocol):
    """A finished trace, or a builder that still grows."""

    header: Header | None
    pieces: Mapping[int, Piece]
    trees: Sequence[TreeShape]
    steps: Sequence[Step]
    plain: Sequence[PlainToken]


@dataclass(frozen=True)
class StepView:
    """A step with its tree, the tokens' text, and what each head had predicted for it.

    `heads[d − 1]` are the predictions of head d from the last token before the root; empty where
    the trace does not tell them.
    """

    step: Step
    shape: TreeShape
    pieces: Mapping[int, Piece]
    heads: Sequence[TopTokens]
    rule: str
    plain_ms: float | None

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

    def token(self, token_id: int, limit: int | None = 40) -> str:
        """A token's visible text."""
        return visible(piece_of(self.pieces, token_id), limit)

    def label(self, row: int, limit: int | None = 40) -> str:
        """The visible text of the token in a row."""
        return self.token(self.step.token_ids[row], limit)

    def rank(self, row: int) -> int:
        """Which guess of its head the row holds; 0 is the head's first."""
        return self.shape.paths[row - 1][-1] if row else 0

    def ancestors(self, row: int) -> list[int]:
        """Rows from the root to `row`, both included."""
        path = [row]
        while (row := self.parents[row]) >= 0:
            path.append(row)
        return path[::-1]


def step_view(run: Run, index: int) -> StepView:
    """The view of step `index` (0-based) of a run."""
    step = run.steps[index]
    return StepView(
        step=step,
        shape=run.trees[step.tree],
        pieces=run.pieces,
        heads=_heads_before(run, index),
        rule=_rule(run),
        plain_ms=plain_step_ms(run.plain),
    )


def plain_step_ms(plain: Sequence[PlainToken]) -> float | None:
    """The median time of a plain step so far."""
    return median(token.milliseconds for token in plain) if plain else None


def _heads_before(run: Run, index: int) -> Sequence[TopTokens]:
    """What the heads predicted from the token before the root: that is where drafts come from."""
    step = run.steps[index]
    known = [*step.positions, *(run.steps[index - 1].positions if index else ())]
    if run.header is not None and run.header.prompt_position is not None:
        known.append(run.header.prompt_position)
    before = step.context_length - 1
    return next((position.heads for position in known if position.index == before), ())


def _rule(run: Run) -> str:
    """The acceptance rule of the run, `auto` resolved."""
    if run.header is None:
        return "greedy"
    settings = run.header.settings
    if settings.acceptance != "auto":
        return settings.acceptance
    return "greedy" if settings.temperature == 0 else "sample"
