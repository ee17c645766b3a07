"""Plain decoding against `generate()` of transformers, on the same weights and backend.

Plain decoding is the baseline of every speedup that is shown, so it must not be a straw man. Both
decode the same prompts greedily, in turn; prefill is left out on both sides: the time is that from
the first new token to the last.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from pydantic import BaseModel as Schema
from pydantic import ConfigDict
from transformers import GenerationConfig
from transformers.generation.streamers import BaseStreamer

from explorer.config import DecodeSettings, decode_settings
from explorer.decoding.loop import StepResult

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from explorer import Explorer
    from explorer.models.base import BaseModel

Run = tuple[list[int], float]  # new tokens, seconds from the first of them to the last


class Reference(Schema):
    """Tokens per second of both, prefill excluded, and how many texts were the same."""

    model_config = ConfigDict(frozen=True)

    prompts: int
    plain_tokens_per_second: float | None
    generate_tokens_per_second: float | None
    plain_over_generate: float | None
    identical_prompts: int


def measure_reference(
    explorer: Explorer, prompts: Sequence[str], max_new_tokens: int = 64
) -> Reference:
    """Decode every prompt with both, the one that goes first changing from prompt to prompt."""
    settings = decode_settings(method="plain", max_new_tokens=max_new_tokens)
    passes = {"plain": 0, "generate": 0}
    seconds = {"plain": 0.0, "generate": 0.0}
    identical = 0
    if prompts:  # warm up, so that neither pays for the first allocation
        ids = explorer.encode(prompts[0], settings)
        generate(explorer.model, ids, 4)
        plain(explorer, ids, 4)
    for number, prompt in enumerate(prompts):
        ids = explorer.encode(prompt, settings)
        order = ["plain", "generate"] if number % 2 else ["generate", "plain"]
        texts = {}
        for name in order:
            if name == "plain":
                texts[name], spent = plain(explorer, ids, max_new_tokens)
            else:
                texts[name], spent = generate(explorer.model, ids, max_new_tokens)
            passes[name] += max(0, len(texts[name]) - 1)
            seconds[name] += spent
        identical += texts["plain"] == texts["generate"]
    rate = {k: passes[k] / seconds[k] if seconds[k] > 0 and passes[k] else None for k in passes}
    both = rate["plain"] is not None and rate["generate"] is not None
    return Reference(
        prompts=len(prompts),
        plain_tokens_per_second=rate["plain"],
        generate_tokens_per_second=rate["generate"],
        plain_over_generate=rate["plain"] / rate["generate"] if both else None,
        identical_prompts=identical,
    )


def plain(explorer: Explorer, ids: list[int], max_new_tokens: int) -> Run:
    """Our plain decoding, by the clock on the wall."""
    return ours(explorer, ids, decode_settings(method="plain", max_new_tokens=max_new_tokens))


def ours(explorer: Explorer, ids: list[int], settings: DecodeSettings) -> Run:
    """Our decoding by any method, by the clock on the wall."""
    tokens: list[int] = []
    start = end = 0.0
    for item in explorer.steps(ids, settings):
        if isinstance(item, StepResult):
            tokens += item.emitted
        else:
            start = time.perf_counter()
        end = time.perf_counter()
    return tokens, end - start


def generate(model: BaseModel, ids: list[int], max_new_tokens: int) -> Run:
    """Greedy `generate()` with the library's own attention and cache."""
    tokens, clock = clocked_generate(model, ids, max_new_tokens)
    return tokens, clock.seconds


def clocked_generate(
    model: BaseModel,
    ids: list[int],
    max_new_tokens: int,
    assistant: PreTrainedModel | None = None,
    **options: object,
) -> tuple[list[int], Clock]:
    """New tokens of `generate()`, and when they came. `options` join its configuration."""
    prompt = torch.tensor([ids], device=model.device)
    clock = Clock(model)
    eos = sorted(model.eos_ids)
    config = GenerationConfig(
        do_sample=False,
        max_new_tokens=max_new_tokens,
        eos_token_id=eos or None,
        pad_token_id=eos[0] if eos else 0,
        **options,
    )
    # Inference mode is more than most callers grant it, and what our own loop runs in.
    with torch.inference_mode(), model.library_attention():
        output = model.network.generate(
            input_ids=prompt,
            attention_mask=torch.ones_like(prompt),
            generation_config=config,
            streamer=clock,
            assistant_model=assistant,
        )
    return output[0, len(ids) :].tolist(), clock


class Clock(BaseStreamer):
    """Notes when the first and the last new token came, and how many came at first."""

    def __init__(self, model: BaseModel) -> None:
        self._model = model
        self._calls = 0
        self._first = self._last = 0.0
        self.first_tokens = 0

    def put(self, value: torch.Tensor) -> None:
        """Called with the prompt, then with every new token."""
        self._model.synchronise()
        self._last = time.perf_counter()
        if self._calls == 1:
            self._first = self._last
            self.first_tokens = value.numel()
        self._calls += 1

    def end(self) -> None:
        """Called after the last token."""

    @property
    def seconds(self) -> float:
        """From the first new token to the last."""
        return self._last - self._first if self._calls > 1 else 0.0
