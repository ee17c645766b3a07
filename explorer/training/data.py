"""Self-distilled conversations: reading, filtering, splitting, counting tokens.

A data file holds one JSON object a line, `{"prompt": [ids], "response": [ids]}`, plain or gzip;
its first line may say what made it (`training/generate.py`).
The replies were written by the base model itself, so the text follows the distribution that the
heads must predict (Medusa paper, section 2.3.2, "self-distillation").
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from explorer.records.errors import ExplorerError

MADE_BY = '{"made_by"'  # the start of a first line that describes the text


@dataclass(frozen=True)
class Conversation:
    """One prompt and the reply that the base model gave, both as token ids."""

    prompt: tuple[int, ...]
    response: tuple[int, ...]

    def truncated(self, max_tokens: int) -> Conversation:
        """The same conversation cut to `max_tokens` tokens in all, from the end of the reply."""
        room = max(0, max_tokens - len(self.prompt))
        return Conversation(self.prompt, self.response[:room])


def read_conversations(path: Path, vocab_size: int) -> list[Conversation]:
    """Every conversation of the file at `path`, checked against the model's vocabulary."""
    conversations = [
        _parse_line(line, path, number, vocab_size)
        for number, line in enumerate(read_lines(path), start=1)
        if line.strip() and not (number == 1 and line.startswith(MADE_BY))
    ]
    if not conversations:
        raise ExplorerError(
            f"The training data at {path} holds no conversation: "
            'give lines of {"prompt": [token ids], "response": [token ids]}.'
        )
    return conversations


def read_lines(path: str | Path) -> list[str]:
    """The lines of a JSON-lines file, plain or gzip. Raises ExplorerError if it cannot be read."""
    try:
        raw = Path(path).read_bytes()
        if raw[:2] == b"\x1f\x8b":
            raw = gzip.decompress(raw)
        return raw.decode("utf-8").splitlines()
    except FileNotFoundError:
        raise ExplorerError(f"There is no training data at {path}: check the path.") from None
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise ExplorerError(
            f"The training data at {path} cannot be read ({type(error).__name__}: {error}): "
            "give a JSON-lines file, plain or gzip."
        ) from error


def _parse_line(line: str, path: Path, number: int, vocab_size: int) -> Conversation:
    try:
        record = json.loads(line)
        prompt, response = tuple(record["prompt"]), tuple(record["response"])
    except (ValueError, KeyError, TypeError, RecursionError):
        prompt = response = ()
    ids = prompt + response
    # `type(i) is int` and not isinstance: JSON's true and false are not token ids.
    if not prompt or not response or not all(type(i) is int and i >= 0 for i in ids):
        raise ExplorerError(
            f"Line {number} of {path} is not a conversation: each line must be "
            '{"prompt": [token ids], "response": [token ids]}, both non-empty.'
        )
    if max(ids) >= vocab_size:
        raise ExplorerError(
            f"Line {number} of {path} holds token {max(ids)}, but this model knows only "
            f"{vocab_size} tokens: the file was made with another tokenizer, so make the data "
            "with this model."
        )
    return Conversation(prompt, response)


def right_padded(sequences: Sequence[Sequence[int]]) -> torch.Tensor:
    """Token ids as one batch int64 [n, longest]: under causal attention none sees the padding."""
    ids = torch.zeros(len(sequences), max(map(len, sequences)), dtype=torch.long)
    for row, sequence in enumerate(sequences):
        ids[row, : len(sequence)] = torch.tensor(sequence)
    return ids


def distinct_share(tokens: Sequence[int], n: int = 4) -> float:
    """Distinct n-grams over all n-grams of `tokens`; 1.0 where there are none."""
    total = len(tokens) - n + 1
    if total <= 0:
        return 1.0
    return len({tuple(tokens[i : i + n]) for i in range(total)}) / total


def drop_loops(
    conversations: Iterable[Conversation], least_share: float = 0.5
) -> list[Conversation]:
    """Without the replies that repeat themselves.

    Greedy replies of small models often fall into loops; heads trained on them learn to copy the
    loop and look better than they are.
    """
    return [c for c in conversations if distinct_share(c.response) >= least_share]


def split_holdout(
    conversations: Sequence[Conversation], fraction: float, seed: int
) -> tuple[list[int], list[int]]:
    """Indices of the training and the held-out conversations, by whole conversations.

    A prompt's side depends on the prompt and the seed alone. So identical prompts go to the same
    side, and text that is added later never makes a held-out prompt one that was trained on. At
    least one prompt is held out. Raises ExplorerError if nothing is left to train on.
    """
    places = [_place(conversation.prompt, seed) for conversation in conversations]
    limit = max(fraction, min(places))
    held = [i for i, place in enumerate(places) if place <= limit]
    train = [i for i, place in enumerate(places) if place > limit]
    if not train:
        raise ExplorerError(
            "No conversation is left to train on after holding some out: "
            "give more conversations with different prompts."
        )
    return train, held


def _place(prompt: tuple[int, ...], seed: int) -> float:
    """A number between 0 and 1 for a prompt: uniform, and the same in every run."""
    digest = hashlib.sha256(repr((seed, prompt)).encode()).digest()
    return int.from_bytes(digest[:8]) / 2**64


def pick_draft_vocabulary(
    conversations: Sequence[Conversation], size: int, vocab_size: int
) -> tuple[torch.Tensor, float]:
    """The `size` most frequent reply tokens and the share of reply tokens that they cover.

    Returns (token map int64 [V_d], ascending ids; coverage 0..1). Where fewer tokens occur than
    asked for, the lowest unused ids fill up: byte-pair ids are ordered by how early they were
    merged, so these are the more frequent ones.
    """
    counts = Counter(token for c in conversations for token in c.response)
    size = min(size, vocab_size)
    chosen = [token for token, _ in sorted(counts.items(), key=lambda x: (-x[1], x[0]))[:size]]
    known = set(chosen)
    for token in range(vocab_size):
        if len(chosen) >= size:
            break
        if token not in known:
            chosen.append(token)
    return torch.tensor(sorted(chosen), dtype=torch.long), coverage_of(chosen, conversations)


def vocabulary_size(conversations: Iterable[Conversation], share: float, most: int) -> int:
    """How many of the most frequent tokens hold `share` of the reply tokens, `most` at most.

    A share of 0 asks for no coverage and gives `most`.
    """
    if share == 0:
        return most
    counts = Counter(token for c in conversations for token in c.response)
    held, wanted = 0, share * counts.total()
    for size, (_, times) in enumerate(counts.most_common(), start=1):
        held += times
        if held >= wanted:
            return max(2, min(size, most))
    return most


def coverage_of(tokens: Iterable[int], conversations: Iterable[Conversation]) -> float:
    """Share of the reply tokens that are among `tokens`."""
    counts = Counter(token for c in conversations for token in c.response)
    return sum(counts[token] for token in set(tokens)) / max(1, counts.total())


def fingerprint(conversations: Iterable[Conversation]) -> str:
    """A hash of the token ids, so that a cache is never used with other text."""
    digest = hashlib.sha256()
    for c in conversations:
        digest.update(json.dumps([c.prompt, c.response], separators=(",", ":")).encode())
    return digest.hexdigest()
