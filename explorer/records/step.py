"""One step of a run as a record: what was drafted, what the pass said, what was accepted.

Plain data only. n counts the rows of the verify pass (the root included). All probabilities are in
[0, 1], all times in milliseconds.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, computed_field, model_validator

from explorer.records.floor import StepFloor
from explorer.records.record import (
    MAX_MILLISECONDS,
    MAX_ROWS,
    Entries,
    Milliseconds,
    Record,
    TokenId,
    Whole,
    without,
)
from explorer.records.settings import MAX_NEW_TOKENS

MAX_STEPS = MAX_NEW_TOKENS  # each of them writes a token
MAX_HEADS = 16
TOP_HEADS = 16  # predictions of a head kept at every position
TOP_BASE = 5  # predictions of the base model kept at every row

Probability = Annotated[float, Field(ge=0.0, le=1.0)]
Rank = Whole
Verdict = Literal["root", "accepted", "rejected", "pruned"]
Code = Annotated[str, Field(max_length=40)]


class TopTokens(Record):
    """The likeliest tokens of one distribution, best first."""

    ids: Entries[TokenId] = Field(max_length=TOP_HEADS)
    probs: Entries[Probability] = Field(max_length=TOP_HEADS)


class Position(Record):
    """What was predicted from one emitted position (or from the last token of the prompt).

    `index` is the absolute position t of the token whose hidden state was read: the base model
    predicts t+1 from it, head k predicts t+1+k.
    """

    index: Whole
    base_choice: TokenId
    heads: Entries[TopTokens] = Field(max_length=MAX_HEADS)


class Timings(Record):
    """Where the time of a step went, in milliseconds. `record` is no part of a lane's clock."""

    heads: Milliseconds = 0.0  # forward pass of the heads (or of the draft model)
    draft: Milliseconds = 0.0  # choosing the candidates from their output
    verify: Milliseconds = 0.0  # the base model's pass over the n rows, LM head included
    accept: Milliseconds = 0.0
    commit: Milliseconds = 0.0
    record: Milliseconds = 0.0

    @property
    def step(self) -> float:
        """The lane's time for this step: everything but recording."""
        return self.heads + self.draft + self.verify + self.accept + self.commit


class LookaheadState(Record):
    """The state of lookahead decoding in a step.

    The window's level l (oldest first) holds guesses for the positions root + l, root + l + 1, …;
    its column j, read level by level and ended by the next step's newest level, is an n-gram that
    went into the pool.
    """

    window: Entries[Entries[TokenId]] = Field(max_length=MAX_ROWS, description="[levels][W]")
    guesses: Entries[Entries[TokenId]] = Field(
        max_length=MAX_ROWS, description="the pool's n-grams after the root, newest first"
    )
    pool_size: Whole = Field(description="n-grams in the whole pool")


class Trial(Record):
    """A drawn candidate, tried by rejection sampling: p and q of its token, as they were just then.

    It is accepted if `coin`, a uniform number, is below `chance`, min(1, p/q).
    """

    row: int = Field(ge=1)
    p: Probability
    q: Probability
    chance: Probability
    coin: Probability


class Step(Record):
    """One step. Row-wise lists have length n and follow the tree's row order.

    A step whose root alone ends the run (end of sequence, token budget) needs no verify pass:
    its tree is the bare root, `base_top` is empty and `bonus` is None. `base_top` is empty, too,
    in the plain lane of a trace of format 1, which kept a token's time and probability alone.
    """

    index: Whole
    context_length: Whole = Field(description="tokens in the KV cache before the verify pass")
    tree: Whole = Field(description="index into Trace.trees")
    token_ids: Entries[TokenId] = Field(min_length=1, max_length=MAX_ROWS)
    draft_probs: Entries[Probability] = Field(description="by the drafter, given the path; root: 1")
    joint_probs: Entries[Probability] = Field(description="product of draft_probs along the path")
    base_probs: Entries[Probability] = Field(
        description="of the row's token, by the base model at its parent's row, as the rule sees it"
    )
    base_ranks: Entries[Rank] = Field(description="0: the base model's first")
    choices: Entries[Annotated[int, Field(ge=-1, lt=2**53)]] = Field(
        description="the token that the rule chose below each row: the argmax, or the token drawn; "
        "−1 where it chose none"
    )
    thresholds: Entries[Probability] | None = Field(
        default=None, description="typical acceptance: what a row's base_prob had to exceed"
    )
    trials: Entries[Trial] | None = Field(
        default=None,
        max_length=MAX_ROWS - 1,
        description="rejection sampling: the candidates that were tried, in their order",
    )
    residual: TopTokens | None = Field(
        default=None,
        description="rejection sampling: the best of norm(max(0, p − q)), which the bonus was "
        "drawn from after a rejection",
    )
    verdicts: Entries[Verdict]
    base_top: Entries[TopTokens] = Field(
        description="base model's best at each row; empty: no pass"
    )
    accepted: Entries[int] = Field(
        min_length=1, description="rows of the accepted path, root first"
    )
    emitted: Entries[TokenId] = Field(description="tokens this step added to the text")
    bonus: TokenId | None
    bonus_prob: Probability | None
    positions: Entries[Position] = Field(
        max_length=MAX_STEPS,
        description="the position that chose the root (the first step's is in the header), and "
        "positions of this or earlier steps that are recorded late; see their `index`",
    )
    timings: Timings
    floor: StepFloor | None = Field(
        default=None, description="None: unknown, or no pass was needed"
    )
    draft_top: Entries[TopTokens] | None = Field(
        default=None,
        max_length=MAX_ROWS,
        description="heads that see their path: their guesses below each row, best first; where "
        "candidates were drawn: what those below each row were drawn from",
    )
    price: float | None = Field(
        default=None,
        ge=0,
        le=MAX_MILLISECONDS,
        description="`auto` trees only: the price of the verified nodes, in tokens that "
        "would be written in the same time",
    )
    promise: float | None = Field(
        default=None,
        ge=0,
        le=MAX_MILLISECONDS,
        description="`auto` trees only: the accepted drafts expected of the nodes, which were "
        "worth their price: the sum of their joint_probs times the trust in them",
    )
    lookahead: LookaheadState | None = None
    reasons: Entries[Code] | None = Field(
        default=None, max_length=MAX_ROWS, description="code of each row (records/sentences.py)"
    )
    stages: Entries[Code] | None = Field(
        default=None, max_length=7, description="codes of the step's sentence and its six stages"
    )

    @model_validator(mode="before")
    @classmethod
    def _ratio_anew(cls, given: Any) -> Any:
        return without(given, "over_floor")

    @computed_field
    @property
    def over_floor(self) -> float | None:
        """How many times its floor the step took; None where no floor is known."""
        if self.floor is None or self.floor.milliseconds == 0:
            return None
        return round(self.timings.step / self.floor.milliseconds, 4)

    @property
    def extra_rows(self) -> int:
        """Rows of a lookahead window in the same pass; its corner is the tree's root."""
        window = self.lookahead.window if self.lookahead else []
        return max(0, sum(map(len, window)) - 1)

    @property
    def ended_the_run(self) -> bool:
        """Whether no pass was needed, because the root is the last token."""
        return not self.base_top and self.timings.verify == 0

    @model_validator(mode="after")
    def _rows_agree(self) -> Step:
        n = len(self.token_ids)
        for name in ("draft_probs", "joint_probs", "base_probs", "base_ranks", "verdicts"):
            if len(getattr(self, name)) != n:
                raise ValueError(f"step {self.index}: {name} must have {n} entries")
        if self.base_top and (len(self.base_top) != n or len(self.choices) != n):
            raise ValueError(f"step {self.index}: base_top and choices must have {n} entries")
        if any(trial.row >= n for trial in self.trials or ()):
            raise ValueError(f"step {self.index}: trials name a row beyond {n - 1}")
        if self.reasons is not None and len(self.reasons) != n:
            raise ValueError(f"step {self.index}: reasons must have {n} entries")
        if any(not 0 <= row < n for row in self.accepted):
            raise ValueError(f"step {self.index}: accepted names a row outside 0…{n - 1}")
        return self
