"""Prompt lookup decoding (Saxena 2023): the text so far is its own draft model.

If the last n tokens occurred before, in the prompt or the reply, what followed them there is
the draft: one chain. The longest n is tried first, and of several occurrences the latest counts.
It costs no model and pays where a reply repeats its prompt: summaries, edits, extraction, code.
"""

from __future__ import annotations

import torch

from explorer.decoding.drafter import Context, Draft, Drafter, bare_root
from explorer.decoding.registry import DrafterInputs
from explorer.decoding.tree import chain
from explorer.records.settings import DecodeSettings


def make_drafter(inputs: DrafterInputs, settings: DecodeSettings) -> Drafter:
    """The drafter of a run."""
    return PromptLookupDrafter(settings.lookup_tokens, settings.lookup_ngram)


class PromptLookupDrafter(Drafter):
    """Copies up to `tokens` tokens after an earlier occurrence of up to `ngram` last ones."""

    def __init__(self, tokens: int, ngram: int) -> None:
        self.tokens = tokens
        self.ngram = ngram
        self._ends: dict[tuple[int, ...], int] = {}  # n-gram → where its latest occurrence ended
        self._indexed = 0  # n-grams that end at or before this index of the text are known

    def draft(self, context: Context) -> Draft:
        """The chain that is copied; the bare root where nothing matches."""
        copied = self.lookup(context.text)[: context.max_depth]
        if not copied:
            return bare_root(context.root)
        tokens = torch.tensor([context.root, *copied])
        return Draft(chain(len(copied)), tokens, torch.ones(len(tokens)))

    def lookup(self, text: list[int]) -> list[int]:
        """The tokens after the latest earlier occurrence of the longest known ending of `text`."""
        self._index(text)
        for n in range(min(self.ngram, len(text) - 1), 0, -1):
            end = self._ends.get(tuple(text[-n:]))
            if end is not None:
                return text[end : end + self.tokens]
        return []

    def _index(self, text: list[int]) -> None:
        """Take in the n-grams that something follows: all but those that end the text."""
        for end in range(self._indexed + 1, len(text)):
            for n in range(1, min(self.ngram, end) + 1):
                self._ends[tuple(text[end - n : end])] = end
        self._indexed = max(self._indexed, len(text) - 1)
