"""The data model of a trace: everything needed to redraw a run without the model.

Plain data only: no tensors, no torch. Names are those of the field: a *tree* is a list of rank
paths, a *step* is draft → verify → accept → commit, n counts the rows of the verify pass (the
root included). All probabilities are in [0, 1], all times in milliseconds.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, computed_field, model_validator

from explorer.records.attention import MAX_ATTENTION_HEADS, AttentionHead
from explorer.records.figures import RaceFigures
from explorer.records.floor import StepFloor
from explorer.records.piece import Piece
from explorer.records.record import MAX_ROWS, Entries, Record, Table, TokenId, without

FORMAT_VERSION = 2  # 1: explorer/records/upgrade.py
MAX_STEPS = 16_384
MAX_HEADS = 16
TOP_HEADS = 16  # predictions of a head kept at every position
TOP_BASE = 5  # predictions of the base model kept at every row

Probability = Annotated[float, Field(ge=0.0, le=1.0)]
Milliseconds = Annotated[float, Field(ge=0.0)]
Rank = Annotated[int, Field(ge=0)]
Verdict = Literal["root", "accepted", "rejected", "pruned"]
Code = Annotated[str, Field(max_length=40)]
Pieces = Table[TokenId, Piece]


class TreeShape(Record):
    """The shape of a candidate tree: its non-root rank paths, parents before children.

    Row 0 of every step is the root; row i ≥ 1 is `paths[i - 1]`.
    """

    name: str
    paths: Entries[Annotated[Entries[Rank], Field(min_length=1)]] = Field(max_length=MAX_ROWS - 1)

    @model_validator(mode="after")
    def _prefix_closed(self) -> TreeShape:
        seen: set[tuple[int, ...]] = {()}
        for path in map(tuple, self.paths):
            if path in seen or path[:-1] not in seen:
                raise ValueError(f"rank path {list(path)} is repeated or lacks its parent")
            seen.add(path)
        return self

    @property
    def parents(self) -> list[int]:
        """Row of each row's parent; −1 for the root. Length n."""
        row: dict[tuple[int, ...], int] = {(): 0}
        parents = [-1]
        for i, path in enumerate(map(tuple, self.paths), start=1):
            row[path] = i
            parents.append(row[path[:-1]])
        return parents

    @property
    def depths(self) -> list[int]:
        """Depth of each row; 0 for the root. Length n."""
        return [0, *map(len, self.paths)]


class TopTokens(Record):
    """The likeliest tokens of one distribution, best first."""

    ids: Entries[TokenId] = Field(max_length=TOP_HEADS)
    probs: Entries[Probability] = Field(max_length=TOP_HEADS)


class Position(Record):
    """What was predicted from one emitted position (or from the last token of the prompt).

    `index` is the absolute position t of the token whose hidden state was read: the base model
    predicts t+1 from it, head k predicts t+1+k.
    """

    index: int = Field(ge=0)
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
    pool_size: int = Field(ge=0, description="n-grams in the whole pool")


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

    index: int = Field(ge=0)
    context_length: int = Field(ge=0, description="tokens in the KV cache before the verify pass")
    tree: int = Field(ge=0, description="index into Trace.trees")
    token_ids: Entries[TokenId] = Field(min_length=1, max_length=MAX_ROWS)
    draft_probs: Entries[Probability] = Field(description="by the drafter, given the path; root: 1")
    joint_probs: Entries[Probability] = Field(description="product of draft_probs along the path")
    base_probs: Entries[Probability] = Field(
        description="of the row's token, by the base model at its parent's row, as the rule sees it"
    )
    base_ranks: Entries[Rank] = Field(description="0: the base model's first")
    choices: Entries[Annotated[int, Field(ge=-1)]] = Field(
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
        description="heads that see their path only: their guesses below each row, best first",
    )
    price: float | None = Field(
        default=None,
        ge=0,
        description="`auto` trees only: the price of the verified nodes, in tokens that "
        "would be written in the same time",
    )
    promise: float | None = Field(
        default=None,
        ge=0,
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


class Settings(Record):
    """The settings of the run; the parameters of methods are extra fields."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, int | str | None]

    method: str
    tree: str
    acceptance: str
    temperature: float = Field(ge=0)
    top_p: float = Field(gt=0, le=1)
    top_k: int = Field(ge=0)
    epsilon: float
    delta: float
    root_rule: str = "draw"
    seed: int
    max_new_tokens: int = Field(ge=1)
    system_prompt: str | None = None
    raw_prompt: bool = False


class Shown(Record):
    """The method's name on a page, and who guesses at a {depth}."""

    title: str = Field(max_length=100)
    drafter: str = Field(max_length=100)
    by_heads: bool | None = Field(default=None, description="None in older traces")


class Header(Record):
    """What made the run: model, heads, settings, machine."""

    created: str = Field(description="ISO 8601, UTC")
    explorer_version: str
    model: str
    tuned: str | None = Field(
        default=None, description="if an adapter changed the model: what the output is lossless to"
    )
    heads: str | None
    num_heads: int = Field(ge=0, le=MAX_HEADS)
    backend: str
    device: str
    versions: Table[str, str]
    settings: Settings
    shown: Shown | None = Field(default=None, description="None in older traces")
    prompt: str
    prompt_ids: Entries[TokenId]
    continued_tokens: int = Field(
        default=0,
        ge=0,
        description="how many of prompt_ids, at the end, the model wrote in earlier runs",
    )
    prompt_position: Position | None = Field(description="predictions from the last prompt token")
    prefill_ms: Milliseconds
    eos_ids: Entries[TokenId]

    @model_validator(mode="after")
    def _continues_its_own_prompt(self) -> Header:
        if self.continued_tokens > len(self.prompt_ids):
            raise ValueError("continued_tokens exceeds prompt_ids")
        return self


class Lane(Record):
    """One method's run over a prompt, alone or beside another in a race."""

    header: Header
    trees: Entries[TreeShape] = Field(max_length=MAX_STEPS)
    steps: Entries[Step] = Field(max_length=MAX_STEPS)

    @model_validator(mode="after")
    def _trees_hold(self) -> Lane:
        for step in self.steps:
            if step.tree >= len(self.trees):
                raise ValueError(f"step {step.index} names tree {step.tree}, which is not there")
            if len(step.token_ids) != len(self.trees[step.tree].paths) + 1:
                raise ValueError(f"step {step.index} does not fit its tree")
        return self

    @property
    def new_token_ids(self) -> list[int]:
        """The tokens of the run, in order."""
        return [token for step in self.steps for token in step.emitted]


class Trace(Lane):
    """A complete, replayable record of a run; of a race, where it has a rival."""

    format_version: Literal[2] = FORMAT_VERSION
    pieces: Pieces
    rival: Lane | None = Field(
        default=None, description="the other lane of the race, which took turns"
    )
    figures: RaceFigures | None = Field(
        default=None, description="of the race, for who only draws it"
    )
    attention: Entries[AttentionHead] = Field(
        default_factory=list,
        max_length=MAX_ATTENTION_HEADS,
        description="weights of some heads and steps",
    )

    @model_validator(mode="after")
    def _references_hold(self) -> Trace:
        if self.rival and self.rival.header.prompt_ids != self.header.prompt_ids:
            raise ValueError("the rival of the race has another prompt")
        for head in self.attention:
            if head.step >= len(self.steps):
                raise ValueError(f"attention of step {head.step}, which is not there")
            step = self.steps[head.step]
            head.require_fit(step.context_length, self.trees[step.tree].depths)
        return self

    def __repr__(self) -> str:
        method, prompt = self.header.settings.method, self.header.prompt
        steps, tokens = len(self.steps), len(self.new_token_ids)
        return f"Trace({method!r:.40}, {prompt!r:.60}, {steps} steps, {tokens} tokens)"

    def __str__(self) -> str:
        return repr(self)
