"""This product's decoding against llama.cpp's plain decoding of the same GGUF file.

Both get the same token ids and as many threads, decode greedily, and take turns prompt by prompt;
the order changes. One waits while the other decodes, and the CPU time that it uses meanwhile is
measured. The first new token comes from the prompt's pass; no side's time includes it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from pydantic import BaseModel as Schema
from pydantic import ConfigDict, Field, ValidationError

from explorer.measuring.llama_cpp_process import START_SECONDS, Worker, worker_command
from explorer.measuring.reference import TimedRun, after_first, in_turn, ours, quotient, shortened
from explorer.records.errors import ExplorerError
from explorer.records.methods import PLAIN
from explorer.records.settings import DecodeSettings

if TYPE_CHECKING:
    from explorer.measuring.lab_protocol import LabProtocol
    from explorer.models.base import LanguageModel

LLAMA_CPP, BEST = "llama.cpp", "best"
REPLY_SECONDS = 300.0  # seconds for a reply, after which it counts as hung
SLOTS = 256  # llama.cpp's KV cache comes in multiples of this


class LlamaCpp(Schema):
    """Tokens per second of llama.cpp, plain decoding and the fastest method raced, and ratios.

    `version` is its package's. `identical_prompts` counts the prompts on which plain decoding wrote
    the same tokens as llama.cpp, which rounds activations in another way, so texts may differ.
    `same_prompt_tokens` says whether it read every prompt's tokens, and no others.
    `idle_cpu` is the CPU time that its process took while it waited, as a share of one core, and
    `our_idle_cpu` that of ours: near 0, or the two disturbed each other.
    """

    model_config = ConfigDict(frozen=True)

    prompts: int
    max_new_tokens: int
    threads: int
    version: str
    tokens_per_second: float | None
    plain_tokens_per_second: float | None
    plain_over_llama_cpp: float | None
    best_method: str | None
    best_tokens_per_second: float | None
    best_over_llama_cpp: float | None
    identical_prompts: int
    same_prompt_tokens: bool
    idle_cpu: float | None
    our_idle_cpu: float | None


class Reply(Schema):
    """What the worker answers to a prompt (measuring/llama_cpp_worker.py)."""

    model_config = ConfigDict(extra="ignore")

    tokens: list[int]
    passes: int = Field(ge=0)
    milliseconds: float = Field(ge=0)
    prompt_tokens: int
    idle_seconds: float = 0.0
    idle_cpu_seconds: float = 0.0


def measure_llama_cpp(
    lab: LabProtocol,
    prompts: Sequence[str],
    plain: DecodeSettings,
    best: DecodeSettings | None,
    report: Callable[[int], None],
    start: Callable[[], Sequence[str]] = worker_command,
) -> LlamaCpp:
    """Decode every prompt by llama.cpp, with the settings `plain`, and with `best` if given.

    `report` gets the number of llama.cpp's replies, with a warm-up first. `start` gives its
    command. Raises ExplorerError, one sentence, where it is not installed, cannot read the
    model, or fails.
    """
    path, most = _same_file(lab.model), plain.max_new_tokens
    ids = [lab.encode(prompt, plain) for prompt in prompts]
    with Worker(start()) as worker:
        threads = torch.get_num_threads()
        slots = max((len(prompt) for prompt in ids), default=0) + most
        slots += -slots % SLOTS
        opened = worker.ask({"model": path, "threads": threads, "context": slots}, START_SECONDS)
        theirs = _Theirs(worker, report)
        runs = {LLAMA_CPP: theirs.run, PLAIN: _run_of(lab, plain)}
        if best is not None:
            runs[BEST] = _run_of(lab, best)
        turns = in_turn(runs, ids, most)
    rates = {BEST: None} | turns.rates
    return LlamaCpp(
        prompts=len(prompts),
        max_new_tokens=most,
        threads=threads,
        version=str(opened.get("version", "unknown")),
        tokens_per_second=rates[LLAMA_CPP],
        plain_tokens_per_second=rates[PLAIN],
        plain_over_llama_cpp=quotient(rates[PLAIN], rates[LLAMA_CPP]),
        best_method=best.method if best else None,
        best_tokens_per_second=rates[BEST],
        best_over_llama_cpp=quotient(rates[BEST], rates[LLAMA_CPP]),
        identical_prompts=turns.identical(PLAIN, LLAMA_CPP),
        same_prompt_tokens=theirs.same_prompt_tokens,
        idle_cpu=theirs.idle_cpu,
        our_idle_cpu=theirs.our_idle_cpu,
    )


def _same_file(model: LanguageModel) -> str:
    """The file that both read. Raises ExplorerError if a comparison is impossible."""
    if model.gguf is None:
        raise ExplorerError("llama.cpp was not measured, because this model is not a GGUF file.")
    if model.tuned:
        raise ExplorerError(
            "llama.cpp was not measured, because an adapter has changed this model's weights."
        )
    if model.device.type != "cpu":
        raise ExplorerError(
            "llama.cpp was not measured, because it runs on the CPU and this model does not: "
            "choose --device cpu."
        )
    return str(model.gguf)


def _run_of(lab: LabProtocol, settings: DecodeSettings) -> Callable[[list[int], int], TimedRun]:
    return lambda ids, most: after_first(ours(lab, ids, shortened(settings, most)))


@dataclass
class _Theirs:
    """llama.cpp's side, and the CPU time of both sides while they wait."""

    worker: Worker
    report: Callable[[int], None]
    same_prompt_tokens: bool = True
    _replies: int = 0
    _waited: float = 0.0
    _waited_cpu: float = 0.0
    _last: Reply | None = None

    def run(self, ids: list[int], most: int) -> TimedRun:
        self.report(self._replies)
        self._replies += 1
        wall, cpu = time.perf_counter(), time.process_time()
        answer = self.worker.ask({"prompt": ids, "max_new_tokens": most}, REPLY_SECONDS)
        self._waited += time.perf_counter() - wall
        self._waited_cpu += time.process_time() - cpu
        reply = self._last = _understood(answer)
        self.same_prompt_tokens &= reply.prompt_tokens == len(ids)
        return reply.tokens, reply.passes, reply.milliseconds / 1000

    @property
    def our_idle_cpu(self) -> float | None:
        return self._waited_cpu / self._waited if self._waited else None

    @property
    def idle_cpu(self) -> float | None:
        if self._last is None or not self._last.idle_seconds:
            return None
        return self._last.idle_cpu_seconds / self._last.idle_seconds


def _understood(answer: dict[str, Any]) -> Reply:
    try:
        return Reply.model_validate(answer)
    except ValidationError as error:
        raise ExplorerError(
            "llama.cpp was not measured, because its process wrote an invalid answer."
        ) from error
