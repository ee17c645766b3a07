"""Self-distilled text: the base model answers prompts, and its replies train the heads.

Medusa paper, section 2.3.2. Prompts come from a file, or from the model itself: after the chat
template's beginning of a user turn it writes what a user might ask, if wanted with given first
words, which steer it to the kinds of prompts that the heads shall be good at.

Every conversation has its own random numbers, fixed by the seed and its number, and is written
down when it ends. A run that was killed resumes where it stopped: no conversation is lost or made
twice.
"""

from __future__ import annotations

import random
import time
from collections import deque
from pathlib import Path
from typing import Any

import torch
from pydantic import BaseModel as Schema
from pydantic import Field

from explorer.decoding.sampling import distribution
from explorer.models.base import LanguageModel
from explorer.models.chat import encode_prompt, require_known
from explorer.models.chat_template import rendered
from explorer.records.errors import ExplorerError
from explorer.records.progress import TrainingProgress
from explorer.training.data import distinct_share
from explorer.training.journal import Journal
from explorer.training.slots import TextInProgress, decode_together

MARK = "\N{OBJECT REPLACEMENT CHARACTER}"
LOOP_WINDOW = 96  # last tokens that are checked for a loop while a reply is written
LOOP_CHECK = 32  # tokens between two checks


class DataOptions(Schema):
    """What to write. Prompts come from `prompts`, then `invented` more from the model itself."""

    out: Path
    prompts: Path | None = Field(default=None, description='a file of {"prompt": "…"} lines')
    invented: int = Field(
        default=0, ge=0, description="number of prompts that the model writes itself"
    )
    openings: Path | None = Field(
        default=None,
        description='a file of {"prompt": "first words…"} lines; the invented prompts begin '
        "with these in turn",
    )
    invented_tokens: int = Field(
        default=160,
        ge=1,
        le=8192,
        description="maximum of tokens that the model adds to an invented prompt",
    )
    max_new_tokens: int = Field(default=256, ge=2, le=8192, description="longest reply")
    sampled_share: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="share of replies sampled at `temperature` instead of greedy",
    )
    temperature: float = Field(default=0.7, gt=0, le=10)
    top_p: float = Field(default=0.95, gt=0, le=1)
    least_distinct: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="minimal share of distinct 4-grams; a reply with fewer is a loop",
    )
    batch_size: int = Field(default=48, ge=1, le=1024)
    seed: int = Field(default=0, ge=0, lt=2**31)

    def recipe(self) -> dict[str, Any]:
        """The settings that shape the text, without the paths of one machine."""
        settings = self.model_dump(mode="json", exclude={"out", "batch_size"})
        return settings | {
            "prompts": self.prompts and self.prompts.name,
            "openings": self.openings and self.openings.name,
        }


class DataResult(Schema):
    """What was written. `dropped` counts loops, empty replies and repeated prompts."""

    out: Path
    conversations: int
    dropped: int
    reply_tokens: int
    seconds: float


class _Sampling(Schema):
    """The arguments of `distribution`."""

    temperature: float
    top_p: float
    top_k: int = 0
    seed: int = 0


class _Writer(TextInProgress):
    """One text that is being written: the reply to a prompt, or a prompt with its `opening`."""

    def __init__(
        self,
        number: int,
        ids: list[int],
        limit: int,
        sampling: _Sampling,
        opening: str | None = None,
    ) -> None:
        super().__init__(ids, limit)
        self.number, self.sampling, self.opening = number, sampling, opening
        self.generator = torch.Generator().manual_seed(sampling.seed)
        self.looped = False

    def choose(self, logits: torch.Tensor, likeliest: int) -> int:
        """See TextInProgress."""
        if self.sampling.temperature == 0:
            return likeliest
        probs = distribution(logits[None], self.sampling)[0]
        return int(torch.multinomial(probs, 1, generator=self.generator))

    def is_lost(self) -> bool:
        """Whether the text has fallen into a loop."""
        if len(self.new) % LOOP_CHECK == 0 and len(self.new) >= LOOP_WINDOW:
            self.looped = distinct_share(self.new[-LOOP_WINDOW:]) < 0.25
        return self.looped


def generate_data(
    model: LanguageModel,
    options: DataOptions,
    asked: list[str],
    progress: TrainingProgress = lambda _: None,
    openings: list[str] | None = None,
) -> DataResult:
    """Write self-distilled conversations to `options.out`, a gzip JSON-lines file.

    `asked` and `openings` are the prompts of the files that `options.prompts` and
    `options.openings` name. The first line written says which model, backend and settings made the
    text; the others are {"id", "prompt", "response", "temperature"} with token ids. Raises
    ExplorerError where there is nothing to write, for openings that nothing shall begin with, for a
    model without chat template that shall invent prompts, and for a file that cannot be written.
    """
    began = time.perf_counter()
    if not asked and not options.invented:
        raise ExplorerError("There is nothing to write: give --prompts FILE or --invented N.")
    if openings and not options.invented:
        raise ExplorerError(
            "--openings are for invented prompts: give their number with --invented N."
        )
    made_by = {"model": model.name, "backend": model.backend, **options.recipe()}
    journal = Journal(options.out, made_by)
    work = _Work(model, options, asked, openings or [""], journal)
    total, tokens = len(asked) + options.invented, 0
    already = len(journal.done)
    for text in decode_together(model, work.next_text, options.batch_size):
        tokens += len(text.new)
        work.finished(text)
        seconds, done = time.perf_counter() - began, len(journal.done)
        made = done - already
        progress(
            {
                "phase": "writing",
                "done": done,
                "total": total,
                "tokens_per_second": round(tokens / seconds, 1),
                "seconds_left": round(seconds / made * (total - done)) if made else None,
            }
        )
    kept = journal.close()
    return DataResult(
        out=options.out,
        conversations=len(kept),
        dropped=len(journal.done) - len(kept),
        reply_tokens=sum(len(record["response"]) for record in kept),
        seconds=round(time.perf_counter() - began, 1),
    )


class _Work:
    """Which texts are still to be written, in which order."""

    def __init__(
        self,
        model: LanguageModel,
        options: DataOptions,
        asked: list[str],
        openings: list[str],
        journal: Journal,
    ) -> None:
        self.model, self.options, self.journal = model, options, journal
        # Texts of similar length together: a pass reads as many cached positions for every text
        # as the longest one has.
        order = sorted(range(len(asked)), key=lambda number: len(asked[number]))
        order += range(len(asked), len(asked) + options.invented)
        self.numbers = deque(number for number in order if number not in journal.done)
        self.asked, self.openings = asked, openings
        self.replies: deque[_Writer] = deque()
        self.user_turn = _user_turn(model) if options.invented else ""

    def next_text(self) -> _Writer | None:
        """The next text to write, if there is one: replies to invented prompts come first."""
        while not self.replies and self.numbers:
            number = self.numbers.popleft()
            if number >= len(self.asked):
                return self._invented(number)
            self._queue_reply(number, self.asked[number])
        return self.replies.popleft() if self.replies else None

    def _invented(self, number: int) -> _Writer:
        opening = self.openings[(number - len(self.asked)) % len(self.openings)]
        text = self.user_turn + opening
        ids = self.model.tokenizer(text, add_special_tokens=False)["input_ids"]
        sampling = _Sampling(temperature=1.0, top_p=0.95, seed=self._seed(number, 1))
        return _Writer(number, ids, self.options.invented_tokens, sampling, opening)

    def finished(self, text: _Writer) -> None:
        """Write a reply down, or queue the reply to a prompt that is now there."""
        if text.opening is not None:
            added = self.model.tokenizer.decode(text.new, skip_special_tokens=True)
            self._queue_reply(text.number, (text.opening + added).strip())
            return
        kept = len(text.new) >= 2 and not text.looped
        kept = kept and distinct_share(text.new) >= self.options.least_distinct
        record = {
            "prompt": text.ids,
            "response": text.new,
            "temperature": text.sampling.temperature,
        }
        self.journal.add(text.number, record if kept else {"dropped": "loop or empty"})

    def _queue_reply(self, number: int, prompt: str) -> None:
        """Queue the reply to a prompt, or note in the journal that the prompt is unusable."""
        try:
            ids = encode_prompt(self.model.tokenizer, prompt)
            require_known(ids, self.model.vocab_size)
        except ExplorerError:
            ids = []
        limit = min(self.options.max_new_tokens, self.model.context_length - len(ids))
        if not ids or limit < 2 or not self.journal.is_new(ids):
            self.journal.add(number, {"dropped": "empty, too long or repeated prompt"})
            return
        warm = random.Random(self._seed(number, 2)).random() < self.options.sampled_share
        temperature = self.options.temperature if warm else 0.0
        sampling = _Sampling(
            temperature=temperature, top_p=self.options.top_p, seed=self._seed(number, 3)
        )
        self.replies.append(_Writer(number, ids, limit, sampling))

    def _seed(self, number: int, purpose: int) -> int:
        return (self.options.seed * 1_000_003 + number) * 4 + purpose


def _user_turn(model: LanguageModel) -> str:
    """The chat template up to where a user's words begin."""
    tokenizer = model.tokenizer
    if not getattr(tokenizer, "chat_template", None):
        raise ExplorerError(
            "This model has no chat template, so it cannot invent prompts: give --prompts FILE."
        )
    text = rendered(tokenizer, [{"role": "user", "content": MARK}])
    return text.partition(MARK)[0]
