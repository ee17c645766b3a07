"""The base model's hidden states of the training text, computed once and kept on disk.

Medusa-1 leaves the base model frozen (paper, section 2.2.1), so its hidden states never change
while the heads learn: one teacher-forced pass over the text is enough for every epoch and every
later run. Row i of a conversation is the hidden state from which the LM head predicts
`response[i]`; Medusa head k therefore learns `response[i + k]` from it.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from explorer.models.base import LanguageModel
from explorer.records.errors import ExplorerError
from explorer.records.progress import TrainingProgress
from explorer.training.data import Conversation, fingerprint, right_padded

TOKENS_PER_BATCH = 4096


@dataclass(frozen=True)
class HiddenCache:
    """Hidden states of all replies, one after another.

    hidden: bfloat16 [N, H], backed by the file; tokens: int64 [N], the reply token that the LM
    head predicts from each row; starts: int64 [C + 1], first row of each conversation.
    """

    hidden: torch.Tensor
    tokens: torch.Tensor
    starts: torch.Tensor

    def rows_of(self, conversations: Sequence[int]) -> torch.Tensor:
        """Rows of the given conversations, int64 [n]."""
        bounds = self.starts.tolist()
        return torch.cat([torch.arange(bounds[c], bounds[c + 1]) for c in conversations])

    @cached_property
    def row_ends(self) -> torch.Tensor:
        """For each row, one past the last row of its conversation, int64 [N]."""
        return self.starts[1:].repeat_interleave(self.starts.diff())


def cache_key(model: LanguageModel, conversations: Sequence[Conversation]) -> str:
    """Names the cache by everything that the hidden states depend on."""
    config = model.network.config.get_text_config()
    parts = [model.name, model.backend, config.hidden_size, config.num_hidden_layers]
    parts.append(fingerprint(conversations))
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def hidden_cache(
    model: LanguageModel,
    conversations: Sequence[Conversation],
    folder: str | Path,
    progress: TrainingProgress = lambda _: None,
) -> HiddenCache:
    """The cache for these conversations under `folder`: made, finished or just opened."""
    for batch in filling(model, conversations, folder, TOKENS_PER_BATCH):
        progress(batch)
    return opened(model, conversations, folder)


def opened(
    model: LanguageModel, conversations: Sequence[Conversation], folder: str | Path
) -> HiddenCache:
    """The cache that `filling` has filled. Raises ExplorerError."""
    starts = _starts(conversations)
    tokens = torch.tensor([t for c in conversations for t in c.response], dtype=torch.long)
    path, width = _file(model, conversations, folder), _width(model)
    try:
        flat = np.memmap(path, dtype=np.int16, mode="r+", shape=(len(tokens), width))
    except OSError as error:
        raise _unwritable(path, len(tokens) * width, error) from error
    return HiddenCache(torch.from_numpy(flat).view(torch.bfloat16), tokens, torch.tensor(starts))


def filling(
    model: LanguageModel,
    conversations: Sequence[Conversation],
    folder: str | Path,
    tokens_per_batch: int,
) -> Iterator[dict[str, Any]]:
    """Compute what the cache lacks: how far it is, after every batch. Raises ExplorerError.

    A cache that was begun is to be finished with batches of the same size.
    """
    path, starts = _file(model, conversations, folder), _starts(conversations)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield from _fill(model, conversations, starts, path, tokens_per_batch)
    except OSError as error:
        raise _unwritable(path, starts[-1] * _width(model), error) from error


def _file(model: LanguageModel, conversations: Sequence[Conversation], folder: str | Path) -> Path:
    return Path(folder) / f"hidden-{cache_key(model, conversations)}" / "hidden.bf16"


def _starts(conversations: Sequence[Conversation]) -> list[int]:
    return [0, *np.cumsum([len(c.response) for c in conversations]).tolist()]


def _width(model: LanguageModel) -> int:
    return model.network.config.get_text_config().hidden_size


def _unwritable(path: Path, numbers: int, error: OSError) -> ExplorerError:
    return ExplorerError(
        f"The hidden-state cache in {path.parent} cannot be written "
        f"({error.strerror or error}): free about {numbers * 2 / 1e6:.0f} MB or "
        "choose another cache folder; what was computed so far is kept."
    )


def _fill(
    model: LanguageModel,
    conversations: Sequence[Conversation],
    starts: list[int],
    path: Path,
    tokens_per_batch: int,
) -> Iterator[dict[str, Any]]:
    """Compute what the file at `path` lacks; `done.json` beside it counts finished batches."""
    marker = path.with_name("done.json")
    batches = length_batches(conversations, tokens_per_batch)
    done = _finished_batches(marker, path)
    width = _width(model)
    began, computed = time.perf_counter(), 0
    batched = done < len(batches) and _batching_is_faithful(model, conversations)
    with open(path, "r+b" if path.exists() else "w+b") as file:
        for number, batch in enumerate(batches[done:], start=done + 1):
            states = _reply_states(model, conversations, batch, batched)
            for index, rows in zip(batch, states, strict=True):
                file.seek(starts[index] * width * 2)
                file.write(rows.view(torch.int16).numpy().tobytes())
            file.flush()
            marker.write_text(json.dumps({"batches": number}))
            computed += sum(len(conversations[i].prompt + conversations[i].response) for i in batch)
            yield {
                "phase": "hidden states",
                "done": number,
                "total": len(batches),
                "tokens_per_second": computed / (time.perf_counter() - began),
            }


def _finished_batches(marker: Path, path: Path) -> int:
    if not path.exists():
        return 0
    try:
        return int(json.loads(marker.read_text())["batches"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def length_batches(conversations: Sequence[Conversation], tokens_per_batch: int) -> list[list[int]]:
    """Conversations of similar length together, longest first, so that padding stays small."""
    sizes = [len(c.prompt) + len(c.response) for c in conversations]
    batches: list[list[int]] = []
    room = 0
    for index in sorted(range(len(sizes)), key=lambda i: (-sizes[i], i)):
        if not batches or room < sizes[index]:
            batches.append([])
            room = tokens_per_batch
        batches[-1].append(index)
        room -= sizes[batches[-1][0]]
    return batches


def _reply_states(
    model: LanguageModel, conversations: Sequence[Conversation], batch: list[int], batched: bool
) -> list[torch.Tensor]:
    """Hidden states bfloat16 [len(response), H] of each conversation in the batch."""
    # The last reply token is a target only: nothing is predicted from its own hidden state.
    sequences = [(conversations[i].prompt + conversations[i].response)[:-1] for i in batch]
    if batched:
        states = _padded_states(model, sequences)
    else:
        states = [model.hidden_states(torch.tensor(s, device=model.device)) for s in sequences]
    firsts = [len(conversations[i].prompt) - 1 for i in batch]
    return [
        s[first:].to("cpu", torch.bfloat16).contiguous()
        for s, first in zip(states, firsts, strict=True)
    ]


@torch.inference_mode()
def _padded_states(model: LanguageModel, sequences: Sequence[Sequence[int]]) -> list[torch.Tensor]:
    """One pass over right-padded sequences: under causal attention no token sees the padding."""
    ids = right_padded(sequences)
    with model.library_attention():
        hidden = model.body(input_ids=ids.to(model.device), use_cache=False)
    return [s[: len(q)] for s, q in zip(hidden, sequences, strict=True)]


def _batching_is_faithful(model: LanguageModel, conversations: Sequence[Conversation]) -> bool:
    """Whether a padded pass gives what the model's own single pass gives.

    Models differ in where the final norm sits and backends may bring their own attention, so this
    is measured on two short conversations instead of assumed.
    """
    shortest = sorted(conversations, key=lambda c: len(c.prompt) + len(c.response))
    pair = [shortest[0], shortest[min(len(shortest) - 1, len(shortest) // 10)]]
    sequences = [c.prompt + c.response for c in pair]
    try:
        padded = _padded_states(model, sequences)
    except (RuntimeError, TypeError, ValueError, AttributeError):
        return False
    for states, sequence in zip(padded, sequences, strict=True):
        single = model.hidden_states(torch.tensor(sequence, device=model.device)).float()
        if (states.float() - single).norm() > 0.05 * single.norm():
            return False
    return True
