"""What came back from a server that speculates: plain data of the Serve page and its recordings.

An *arrival* is a piece of a streamed answer: the tokens of one step come together. All times are in
seconds, measured at the client.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field, model_validator

from explorer.records.record import Entries, Record, TokenId

MAX_DRAFTS = 64  # tokens that a server may draft in a step
MAX_ARRIVALS = 16_384
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]
Source = Literal["responses", "counters"]


class Speculation(Record):
    """How many drafts the steps of a server accepted.

    A step verifies a chain of drafted tokens, accepts some from its front on and adds one token of
    the base model. `accepted_at[i]` counts the steps that accepted more than i drafts.
    """

    steps: Count
    drafted: Count
    accepted_at: Entries[Count] = Field(max_length=MAX_DRAFTS)

    @model_validator(mode="after")
    def _falls(self) -> Speculation:
        if any(after > before for before, after in pairwise([self.steps, *self.accepted_at])):
            raise ValueError("more drafts accepted at a position than at the one before it")
        return self

    @property
    def accepted(self) -> int:
        """Accepted drafts of all steps."""
        return sum(self.accepted_at)

    @property
    def tokens_per_step(self) -> float | None:
        """1 + accepted drafts per step, what vLLM calls the mean acceptance length."""
        return 1 + self.accepted / self.steps if self.steps else None

    @property
    def shares(self) -> list[float]:
        """Of all steps, those that accepted the draft at each position: P(L ≥ 1), P(L ≥ 2), …"""
        return [count / self.steps for count in self.accepted_at] if self.steps else []

    @property
    def rates(self) -> list[float | None]:
        """The acceptance rate at each depth: of the steps that accepted all drafts before it.

        It takes all drafts to be of one length, as those of heads are.
        """
        counts = pairwise([self.steps, *self.accepted_at])
        return [after / before if before else None for before, after in counts]

    def __add__(self, other: Speculation) -> Speculation:
        """Both taken together."""
        length = max(len(self.accepted_at), len(other.accepted_at))
        ours, theirs = (
            [*x.accepted_at, *[0] * (length - len(x.accepted_at))] for x in (self, other)
        )
        return Speculation(
            steps=self.steps + other.steps,
            drafted=self.drafted + other.drafted,
            accepted_at=[a + b for a, b in zip(ours, theirs, strict=True)],
        )


def together(found: Sequence[Speculation]) -> Speculation | None:
    """All taken together; None of none."""
    return sum(found[1:], found[0]) if found else None


class ServerInfo(Record):
    """What a server says of itself. `method` None: it does not say how it drafts."""

    address: str
    engine: str | None = Field(description="name and version; None: not said")
    models: Entries[str] = Field(min_length=1, max_length=1_000)
    counts_drafts: bool = Field(description="whether its counters count accepted drafts")
    method: str | None = None


class Answer(Record):
    """One request and what came back. `problem` says why there is no whole answer.

    `accepted` has the drafts accepted by each step, in order, if the server reports them.
    """

    id: str
    prompt: str
    pieces: Entries[str] = Field(max_length=MAX_ARRIVALS, description="text of each arrival")
    token_ids: Entries[Entries[TokenId]] = Field(
        max_length=MAX_ARRIVALS, description="tokens of each arrival; empty: unknown"
    )
    arrivals: Entries[Seconds] = Field(max_length=MAX_ARRIVALS, description="since the request")
    prompt_ids: Entries[TokenId] = Field(default_factory=list)
    tokens: Count = 0
    seconds: Seconds = 0.0
    speculation: Speculation | None = None
    accepted: Entries[Count] = Field(default_factory=list, max_length=MAX_ARRIVALS)
    problem: str | None = None

    @property
    def text(self) -> str:
        """The whole answer."""
        return "".join(self.pieces)

    @property
    def first_token(self) -> float | None:
        """Seconds to the first arrival."""
        return self.arrivals[0] if self.arrivals else None

    @property
    def gaps(self) -> list[float]:
        """Seconds between two arrivals."""
        return [after - before for before, after in pairwise(self.arrivals)]

    @property
    def writing(self) -> float:
        """Seconds from the first arrival to the last."""
        return self.arrivals[-1] - self.arrivals[0] if self.arrivals else 0.0

    @property
    def per_token(self) -> float | None:
        """Seconds per token after the first."""
        return self.writing / (self.tokens - 1) if self.tokens > 1 else None


class Percentiles(Record):
    """Of some times, in seconds."""

    p50: Seconds
    p90: Seconds
    p99: Seconds


class LoadFigures(Record):
    """Many requests at one server, `concurrency` of them at a time; failed ones do not count.

    `seconds` is the time from the first request to the last answer. `source` says where
    `speculation` comes from: the responses of these requests, or the difference of the server's
    counters, which also count whatever else it served meanwhile.
    """

    concurrency: Annotated[int, Field(ge=1, le=64)]
    requests: Count
    failed: Count
    tokens: Count
    seconds: Seconds
    first_token: Percentiles | None
    gap: Percentiles | None
    per_token: Percentiles | None
    mean_per_token: Seconds | None = Field(description="over all tokens after the first ones")
    speculation: Speculation | None
    source: Source | None

    @property
    def tokens_per_second(self) -> float | None:
        """Tokens of all answers over the time that all took together."""
        return self.tokens / self.seconds if self.seconds and self.tokens else None


class EngineRow(Record):
    """How heads did on one engine: `shape` says what it verifies in a step, in a few words.

    `tokens_per_second` and `plain_tokens_per_second` are of one request at a time.
    """

    engine: str
    shape: str
    speculation: Speculation
    tokens_per_second: float | None = Field(default=None, gt=0)
    plain_tokens_per_second: float | None = Field(default=None, gt=0)

    @property
    def speedup(self) -> float | None:
        """Over plain decoding on the same engine."""
        if not self.tokens_per_second or not self.plain_tokens_per_second:
            return None
        return self.tokens_per_second / self.plain_tokens_per_second


class GreedyCheck(Record):
    """Greedy texts of a server, read again by our own model.

    At each difference, `margins` has how much higher the model's choice lies than the server's
    token, in logits; `noise` is how far such a margin moves by the shape of a pass alone.
    """

    texts: Count
    tokens: Count
    margins: Entries[float]
    noise: float = Field(ge=0)


class ServingRecord(Record):
    """Measured figures of a server, as they ship with the product or are saved from the page."""

    made: str = Field(description="the day, ISO 8601")
    machine: str
    engine: str
    model: str
    heads: str
    method: str
    prompts: Count
    max_new_tokens: Count
    speculative: Entries[LoadFigures] = Field(max_length=64)
    plain: Entries[LoadFigures] = Field(max_length=64)
    rows: Entries[EngineRow] = Field(default_factory=list, max_length=16)
    greedy: GreedyCheck | None = None
    answer: Answer | None = Field(default=None, description="one request, to look at its steps")
