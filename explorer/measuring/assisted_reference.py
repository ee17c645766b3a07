"""Draft-model and prompt-lookup decoding against those of transformers, on the same weights.

`generate(assistant_model=…)` and `generate(prompt_lookup_num_tokens=…)` run in the same process,
with as many drafted tokens and the same n-grams, in turn with this product's. The draft has the
same layers, but not the same LM head: transformers computes all 49,152 rows of the default model's,
this product the draft vocabulary's 8,192. Neither side's time includes the first batch of tokens,
which contains the prefill.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel as Schema
from pydantic import ConfigDict
from transformers import GenerationConfig

from explorer.measuring.reference import (
    Clock,
    TimedRun,
    after_first,
    clocked_generate,
    in_turn,
    ours,
    quotient,
    shortened,
)
from explorer.records.settings import DecodeSettings

if TYPE_CHECKING:
    from explorer.measuring.lab_protocol import LabProtocol

Theirs = Callable[["LabProtocol", list[int], DecodeSettings], tuple[list[int], Clock]]


class AssistedReference(Schema):
    """One method: tokens per second of both, their ratio, and the number of equal texts."""

    model_config = ConfigDict(frozen=True)

    prompts: int
    ours_tokens_per_second: float | None
    generate_tokens_per_second: float | None
    ours_over_generate: float | None
    identical_prompts: int


def measure_assisted(
    lab: LabProtocol, prompts: Sequence[str], settings: Mapping[str, DecodeSettings]
) -> dict[str, AssistedReference]:
    """The figures of the methods in `settings` that transformers has, too, over the prompts."""
    runs = {"draft-model": _with_draft, "prompt-lookup": _with_lookup}
    return {
        method: _compare(lab, prompts, settings[method], theirs)
        for method, theirs in runs.items()
        if method in settings
    }


def _compare(
    lab: LabProtocol, prompts: Sequence[str], settings: DecodeSettings, theirs: Theirs
) -> AssistedReference:
    def run_theirs(ids: list[int], most: int) -> TimedRun:
        text, clock = theirs(lab, ids, shortened(settings, most))
        return text, len(text) - clock.first_tokens, clock.seconds

    def run_ours(ids: list[int], most: int) -> TimedRun:
        return after_first(ours(lab, ids, shortened(settings, most)))

    turns = in_turn(
        {"theirs": run_theirs, "ours": run_ours},
        [lab.encode(prompt, settings) for prompt in prompts],
        settings.max_new_tokens,
    )
    return AssistedReference(
        prompts=len(prompts),
        ours_tokens_per_second=turns.rates["ours"],
        generate_tokens_per_second=turns.rates["theirs"],
        ours_over_generate=quotient(turns.rates["ours"], turns.rates["theirs"]),
        identical_prompts=turns.identical("ours", "theirs"),
    )


def _with_draft(
    lab: LabProtocol, ids: list[int], settings: DecodeSettings
) -> tuple[list[int], Clock]:
    """`generate(assistant_model=…)`, drafting K tokens in every step as ours does."""
    draft = lab.draft_model(settings.draft_layers)
    draft.network.generation_config = GenerationConfig(
        num_assistant_tokens=settings.draft_tokens,
        num_assistant_tokens_schedule="constant",
        assistant_confidence_threshold=0.0,
    )
    attention = contextlib.nullcontext()
    if draft.network is not lab.model.network:
        attention = draft.library_attention()
    with attention:
        return clocked_generate(lab.model, ids, settings.max_new_tokens, assistant=draft.network)


def _with_lookup(
    lab: LabProtocol, ids: list[int], settings: DecodeSettings
) -> tuple[list[int], Clock]:
    """`generate(prompt_lookup_num_tokens=…)`."""
    return clocked_generate(
        lab.model,
        ids,
        settings.max_new_tokens,
        prompt_lookup_num_tokens=settings.lookup_tokens,
        max_matching_ngram_size=settings.lookup_ngram,
    )
