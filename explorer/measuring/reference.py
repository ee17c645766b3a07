"""Plain decoding against `generate()` of transformers, on the same weights and backend.

Plain decoding is the baseline of every speedup, so it must not be slow. Both decode the same
prompts greedily, in turn. Neither side's time includes the prefill: it runs from the first new
token to the last.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from pydantic import BaseModel as Schema
from pydantic import ConfigDict
from transformers import GenerationConfig
from transformers.generation.streamers import BaseStreamer

from explorer.decoding.loop import StepResult
from explorer.records.settings import DecodeSettings, decode_settings

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from explorer.measuring.lab_protocol import LabProtocol
    from explorer.models.base import LanguageModel

WARM_UP_TOKENS = 4
Run = tuple[list[int], float]  # new tokens, seconds from the first of them to the last
TimedRun = tuple[list[int], int, float]  # new tokens, how many were timed, their seconds


class Reference(Schema):
    """Tokens per second of both, prefill excluded, and how many texts were the same."""

    model_config = ConfigDict(frozen=True)

    prompts: int
    plain_tokens_per_second: float | None
    generate_tokens_per_second: float | None
    plain_over_generate: float | None
    identical_prompts: int


def measure_reference(
    lab: LabProtocol, prompts: Sequence[str], max_new_tokens: int = 64
) -> Reference:
    """Decode every prompt with both; the order alternates from prompt to prompt."""
    settings = decode_settings(method="plain")
    runs = {
        "generate": lambda ids, most: after_first(generate(lab.model, ids, most)),
        "plain": lambda ids, most: after_first(plain(lab, ids, most)),
    }
    ids = [lab.encode(prompt, settings) for prompt in prompts]
    turns = in_turn(runs, ids, max_new_tokens)
    return Reference(
        prompts=len(prompts),
        plain_tokens_per_second=turns.rates["plain"],
        generate_tokens_per_second=turns.rates["generate"],
        plain_over_generate=quotient(turns.rates["plain"], turns.rates["generate"]),
        identical_prompts=turns.identical("plain", "generate"),
    )


def after_first(run: Run) -> TimedRun:
    """The first token comes from the prefill."""
    tokens, seconds = run
    return tokens, len(tokens) - 1, seconds


@dataclass(frozen=True)
class Turns:
    """The results of several ways to decode on the same prompts.

    rates  tokens per second of each, None where nothing was timed
    texts  the new tokens of each, prompt by prompt
    """

    rates: dict[str, float | None]
    texts: dict[str, list[list[int]]]

    def identical(self, one: str, other: str) -> int:
        """On how many prompts these two wrote the same tokens."""
        pairs = zip(self.texts[one], self.texts[other], strict=True)
        return sum(a == b for a, b in pairs)


def in_turn(
    runs: Mapping[str, Callable[[list[int], int], TimedRun]],
    prompts: Sequence[list[int]],
    max_new_tokens: int,
) -> Turns:
    """Several ways to decode, over the same prompts (token ids), in alternating order."""
    tokens, seconds = dict.fromkeys(runs, 0), dict.fromkeys(runs, 0.0)
    texts: dict[str, list[list[int]]] = {name: [] for name in runs}
    for ids in prompts[:1]:  # warm up, so that none pays for the first allocation
        for run in runs.values():
            run(ids, WARM_UP_TOKENS)
    names = list(runs)
    for number, ids in enumerate(prompts):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            text, timed, spent = runs[name](ids, max_new_tokens)
            texts[name].append(text)
            if timed > 0:
                tokens[name] += timed
                seconds[name] += spent
    rates = {n: tokens[n] / seconds[n] if seconds[n] > 0 else None for n in runs}
    return Turns(rates, texts)


def quotient(a: float | None, b: float | None) -> float | None:
    """a / b, or None where one of them is not known."""
    return None if a is None or b is None else a / b


def plain(lab: LabProtocol, ids: list[int], max_new_tokens: int) -> Run:
    """This product's plain decoding, by the wall clock."""
    return ours(lab, ids, decode_settings(method="plain", max_new_tokens=max_new_tokens))


def ours(lab: LabProtocol, ids: list[int], settings: DecodeSettings) -> Run:
    """This product's decoding by any method, by the wall clock."""
    tokens: list[int] = []
    start = end = 0.0
    for item in lab.steps(ids, settings):
        if isinstance(item, StepResult):
            tokens += item.emitted
        else:
            start = time.perf_counter()
        end = time.perf_counter()
    return tokens, end - start


def shortened(settings: DecodeSettings, most: int) -> DecodeSettings:
    """The same settings for another number of new tokens."""
    return settings.model_copy(update={"max_new_tokens": most})


def generate(model: LanguageModel, ids: list[int], max_new_tokens: int) -> Run:
    """Greedy `generate()` with the library's own attention and cache."""
    tokens, clock = clocked_generate(model, ids, max_new_tokens)
    return tokens, clock.seconds


def clocked_generate(
    model: LanguageModel,
    ids: list[int],
    max_new_tokens: int,
    assistant: PreTrainedModel | None = None,
    **options: Any,
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
    # In inference mode, as our own loop, although most callers do not use it.
    with torch.inference_mode(), model.library_attention(), _no_settings_of_its_own(model.network):
        # its class has it where it can generate, and this is asked of no other
        output = model.network.generate(  # pyright: ignore[reportCallIssue]
            input_ids=prompt,
            attention_mask=torch.ones_like(prompt),
            generation_config=config,
            streamer=clock,
            assistant_model=assistant,
        )
    return output[0, len(ids) :].tolist(), clock


@contextlib.contextmanager
def _no_settings_of_its_own(network: PreTrainedModel) -> Iterator[None]:
    """Inside this context the model's own generation_config (penalties, …) has no effect."""
    own = network.generation_config
    network.generation_config = GenerationConfig()
    try:
        yield
    finally:
        network.generation_config = own


class Clock(BaseStreamer):
    """Records the times of the first and the last new token, and the size of the first batch."""

    def __init__(self, model: LanguageModel) -> None:
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
