"""The messages of an OpenAI-compatible server, as far as they are read. The rest is ignored.

vLLM adds `metrics.speculative_decoding` to the last message of an answer
(`--per-request-spec-decode-metrics`) and, where it is asked, the token ids of every message.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel as Schema
from pydantic import ConfigDict, Field, ValidationError

from explorer.records.record import Entries, TokenId
from explorer.records.serving import MAX_ARRIVALS, MAX_DRAFTS, Speculation

# What one answer can count; sums of many of them, and their ratios, are still exact.
Told = Annotated[int, Field(ge=0, lt=2**40)]


class _Message(Schema):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Delta(_Message):
    """What a message adds to the text. Models that reason give part of it in a field of its own."""

    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None

    @property
    def text(self) -> str:
        """All that was added."""
        return (self.reasoning_content or self.reasoning or "") + (self.content or "")


class Choice(_Message):
    """A message's part of the answer; `finish_reason` comes with the last."""

    delta: Delta = Delta()
    finish_reason: str | None = None
    token_ids: Entries[TokenId] | None = None


class Usage(_Message):
    """How many tokens an answer has."""

    completion_tokens: Told = 0


class RequestSpeculation(_Message):
    """vLLM's account of one request: `acceptance_histogram[j]` steps accepted j drafts."""

    acceptance_histogram: Entries[Told] = Field(max_length=MAX_DRAFTS + 1)
    num_draft_tokens: Told
    per_step_accepted: Entries[Told] | None = Field(default=None, max_length=MAX_ARRIVALS)

    @property
    def speculation(self) -> Speculation:
        """The same as counts by position."""
        steps = self.acceptance_histogram
        return Speculation(
            steps=sum(steps),
            drafted=self.num_draft_tokens,
            accepted_at=[sum(steps[position:]) for position in range(1, len(steps))],
        )


class Chunk(_Message):
    """One message of a streamed answer."""

    model: str | None = None
    choices: list[Choice] = []
    usage: Usage | None = None
    prompt_token_ids: Entries[TokenId] | None = None
    metrics: dict[str, Any] | None = None
    error: Any = None

    @property
    def speculation(self) -> RequestSpeculation | None:
        """How the drafts of the request fared; None where it is not reported, or wrongly."""
        found = (self.metrics or {}).get("speculative_decoding")
        try:
            return RequestSpeculation.model_validate(found) if found is not None else None
        except ValidationError:
            return None


class ModelEntry(_Message):
    """A model that the server offers."""

    id: str = Field(max_length=300)


class ModelList(_Message):
    """What `/v1/models` answers."""

    data: list[ModelEntry] = Field(min_length=1, max_length=1_000)


class SpeculativeConfig(_Message):
    """The method by its name in vLLM: medusa, eagle3, mtp, ngram, draft_model, …"""

    method: str = Field(max_length=100)


class VllmConfig(_Message):
    """The settings that a vLLM was started with."""

    speculative_config: SpeculativeConfig | None = None


class ServerSettings(_Message):
    """What `/server_info` answers."""

    vllm_config: VllmConfig


def refusal(body: object) -> str:
    """The words of an error that a server answers with; "" where it has none."""
    if isinstance(body, dict):
        for name in ("error", "message", "detail"):
            if found := refusal(body.get(name)):
                return found
    return " ".join(body.split())[:200] if isinstance(body, str) else ""
