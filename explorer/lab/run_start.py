"""What a run starts from: a prompt, or the text that it continues."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from explorer.models.base import LanguageModel
from explorer.models.chat import TokenTexts, encode_prompt, require_known
from explorer.records.continuation import Continuation
from explorer.records.errors import ExplorerError
from explorer.records.schema import Trace
from explorer.records.settings import DecodeSettings
from explorer.records.text import encodable


@dataclass(frozen=True)
class RunStart:
    """All tokens before the first new one, and where they come from.

    continued_tokens  how many of `ids`, at the end, the model wrote in earlier runs
    settings          the earlier run's, if one made the prompt
    """

    prompt: str
    ids: list[int]
    continued_tokens: int = 0
    settings: Mapping[str, object] = field(default_factory=dict)


def run_start(
    model: LanguageModel, prompt: str | Continuation, settings: DecodeSettings
) -> RunStart:
    """Raises ExplorerError for a prompt that is empty or too long, or a text at its end."""
    if isinstance(prompt, str):
        prompt = encodable(prompt)
        return RunStart(prompt, encode(model, prompt, settings))
    if obstacle := prompt.obstacle(model.context_length):
        raise ExplorerError(obstacle)
    before = prompt.header.settings
    fixed = {"system_prompt": before.system_prompt, "raw_prompt": before.raw_prompt}
    return RunStart(prompt.header.prompt, prompt.ids, prompt.continued_tokens, fixed)


def encode(model: LanguageModel, prompt: str, settings: DecodeSettings) -> list[int]:
    """Token ids of a prompt. Raises ExplorerError if it is empty or too long."""
    ids = encode_prompt(model.tokenizer, prompt, settings.system_prompt, settings.raw_prompt)
    require_known(ids, model.vocab_size)
    if len(ids) >= model.context_length:
        raise ExplorerError(
            f"The prompt has {len(ids)} tokens and the model reads {model.context_length} in all: "
            "shorten the prompt."
        )
    return ids


def continuation(model: LanguageModel, pieces: TokenTexts, trace: Trace) -> Continuation:
    """The end of a trace, to continue from. Raises ExplorerError for another vocabulary."""
    text = Continuation(trace.header, trace.new_token_ids)
    for token in set(text.ids):
        if token >= model.vocab_size or trace.pieces.get(token) != pieces[token]:
            raise ExplorerError(
                f"The trace was written by {trace.header.model:.100}, whose tokens {model.name} "
                "does not share: load the model that wrote it."
            )
    return text
