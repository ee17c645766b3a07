"""Draft-model and prompt-lookup decoding against those of transformers, on the same weights.

`generate(assistant_model=…)` and `generate(prompt_lookup_num_tokens=…)` run in the same process,
with the same draft, as many drafted tokens and the same n-grams, in turn with ours. The first
batch of tokens, which holds the prefill, is left out on both sides.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel as Schema
from pydantic import ConfigDict
from transformers import GenerationConfig

from explorer.analysis.reference import clocked_generate, ours
from explorer.config import DecodeSettings

if TYPE_CHECKING:
    from explorer import Explorer

WARM_UP_TOKENS = 4


class AssistedReference(Schema):
    """One method: tokens per second of both, their ratio, and how many texts were the same."""

    model_config = ConfigDict(frozen=True)

    prompts: int
    ours_tokens_per_second: float | None
    generate_tokens_per_second: float | None
    ours_over_generate: float | None
    identical_prompts: int


def measure_assisted(
    explorer: Explorer, prompts: Sequence[str], settings: Mapping[str, DecodeSettings]
) -> dict[str, AssistedReference]:
    """Those of the methods in `settings` that transformers has too, over the prompts."""
    runs = {"draft-model": _with_draft, "prompt-lookup": _with_lookup}
    return {
        method: _compare(explorer, prompts, settings[method], theirs)
        for method, theirs in runs.items()
        if method in settings
    }


def _compare(
    explorer: Explorer, prompts: Sequence[str], settings: DecodeSettings, theirs
) -> AssistedReference:
    tokens, seconds = {"ours": 0, "theirs": 0}, {"ours": 0.0, "theirs": 0.0}
    identical = 0
    short = settings.model_copy(update={"max_new_tokens": WARM_UP_TOKENS})
    for prompt in prompts[:1]:  # warm up, so that neither pays for the first allocation
        ours(explorer, explorer.encode(prompt, short), short)
        theirs(explorer, explorer.encode(prompt, short), short)
    for number, prompt in enumerate(prompts):
        ids, texts = explorer.encode(prompt, settings), {}
        for name in ("ours", "theirs") if number % 2 else ("theirs", "ours"):
            if name == "ours":
                texts[name], spent = ours(explorer, ids, settings)
                timed = len(texts[name]) - 1
            else:
                texts[name], clock = theirs(explorer, ids, settings)
                timed, spent = len(texts[name]) - clock.first_tokens, clock.seconds
            tokens[name] += max(0, timed)
            seconds[name] += spent if timed > 0 else 0.0
        identical += texts["ours"] == texts["theirs"]
    rate = {k: tokens[k] / seconds[k] if seconds[k] > 0 and tokens[k] else None for k in tokens}
    both = rate["ours"] is not None and rate["theirs"] is not None
    return AssistedReference(
        prompts=len(prompts),
        ours_tokens_per_second=rate["ours"],
        generate_tokens_per_second=rate["theirs"],
        ours_over_generate=rate["ours"] / rate["theirs"] if both else None,
        identical_prompts=identical,
    )


def _with_draft(explorer: Explorer, ids: list[int], settings: DecodeSettings):
    """`generate(assistant_model=…)`, drafting K tokens in every step as ours does."""
    draft = explorer.draft_model(settings.draft_layers)
    draft.network.generation_config = GenerationConfig(
        num_assistant_tokens=settings.draft_tokens,
        num_assistant_tokens_schedule="constant",
        assistant_confidence_threshold=0.0,
    )
    attention = contextlib.nullcontext()
    if draft.network is not explorer.model.network:
        attention = draft.library_attention()
    with attention:
        return clocked_generate(
            explorer.model, ids, settings.max_new_tokens, assistant=draft.network
        )


def _with_lookup(explorer: Explorer, ids: list[int], settings: DecodeSettings):
    """`generate(prompt_lookup_num_tokens=…)`."""
    return clocked_generate(
        explorer.model,
        ids,
        settings.max_new_tokens,
        prompt_lookup_num_tokens=settings.lookup_tokens,
        max_matching_ngram_size=settings.lookup_ngram,
    )
