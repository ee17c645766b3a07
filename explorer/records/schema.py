"""The data model of a trace: everything needed to redraw a run without the model.

Plain data only: no tensors, no torch. Names are those of the field: a *tree* is a list of rank
paths, a *step* (`records/step.py`) is draft → verify → accept → commit. All times are in
milliseconds.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, model_validator

from explorer.records.attention import MAX_ATTENTION_HEADS, AttentionHead
from explorer.records.figures import RaceFigures
from explorer.records.piece import Piece
from explorer.records.record import MAX_ROWS, Entries, Milliseconds, Record, Table, TokenId
from explorer.records.step import MAX_HEADS, MAX_STEPS, Position, Rank, Step

FORMAT_VERSION = 2  # 1: explorer/records/upgrade.py

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
    along_path: bool | None = Field(
        default=None,
        description="whether the recorded guesses of heads were made given the tokens before them, "
        "as the text has them; None in older traces",
    )


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
    """One method's run over a prompt, alone or as a lane of a race."""

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
