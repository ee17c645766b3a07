"""Speculative decoding with a draft model (Leviathan et al. 2023, Chen et al. 2023).

A small model writes K tokens, one after the other, each drawn from its own distribution q under
the same temperature, top-k and top-p as the base model's p. One pass of the base model over the
chain of drafts gives every p; a draft x is accepted with probability min(1, p(x)/q(x)), the first
rejected one is replaced by a draw from norm(max(0, p − q)), and where all pass, a bonus token
follows (acceptance.Sample). At temperature 0 all mass is on the argmax, and this is comparing.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

from explorer.decoding.cache import KVCache
from explorer.decoding.drafter import Context, Draft, Drafter, bare_root
from explorer.decoding.loop import prefill
from explorer.decoding.registry import DrafterInputs
from explorer.decoding.sampling import Draws, distribution, drafting
from explorer.decoding.tree import chain
from explorer.models.base import LanguageModel
from explorer.models.early_exit import require_same_tokenizer
from explorer.records.settings import DecodeSettings

ONE_ROW = torch.zeros(1, dtype=torch.long), torch.ones(1, 1, dtype=torch.bool)  # offsets, mask


def make_drafter(inputs: DrafterInputs, settings: DecodeSettings) -> Drafter:
    """The drafter of a run. Raises ExplorerError for a draft model with another tokenizer."""
    draft = inputs.draft_model(settings.draft_layers)
    require_same_tokenizer(inputs.model, draft)
    return DraftModelDrafter(draft, settings, inputs.model.vocab_size, inputs.model.context_length)


class DraftModelDrafter(Drafter):
    """Drafts with `model`, whose KV cache follows the text.

    `vocab_size` is the base model's; `positions` bounds the absolute positions of the text.
    """

    def __init__(
        self, model: LanguageModel, settings: DecodeSettings, vocab_size: int, positions: int
    ) -> None:
        self.model = model
        self.cache = KVCache.of(model)
        self._settings = settings
        self._vocab_size = vocab_size
        self.draws = Draws(settings.seed, positions + 1)
        self.read: list[int] = []  # the tokens in the cache
        self._agreed = 0  # how many of them are known to be the text's

    def begin(self, prompt: list[int]) -> None:
        """Read the prompt, if there is room to draft after it."""
        if len(prompt) < self.model.context_length:
            self.catch_up(prompt)

    def draft(self, context: Context) -> Draft:
        """K tokens after the root, or fewer at the end of the text."""
        room = self.model.context_length - len(context.text)
        k = min(self._settings.draft_tokens, context.max_depth, room)
        if k < 1:
            return bare_root(context.root)
        hidden = self.catch_up(context.text)
        tokens, probs = [context.root], [1.0]
        proposals: list[torch.Tensor | None] = []
        for depth in range(k):
            if depth:
                hidden = self._forward(tokens[-1])
            token, prob, q = self._next(hidden, len(context.text) + depth)
            tokens.append(token)
            probs.append(prob)
            proposals.append(q)
        context.lap("heads")
        drawn = [*proposals, None] if self._settings.temperature > 0 else None
        return Draft(chain(k), torch.tensor(tokens), torch.tensor(probs), proposals=drawn)

    def _next(self, hidden: torch.Tensor, position: int) -> tuple[int, float, torch.Tensor | None]:
        """The draft for a position from hidden [1, H], its probability, and q [V] if drawn."""
        logits = fit(self.model.logits(hidden), self._vocab_size)
        if self._settings.temperature == 0:
            token = int(logits.argmax())
            return token, float(torch.softmax(logits[0], dim=-1)[token]), None
        q = distribution(logits, self._settings)[0]
        token = self.draws(q, position, drafting(0))
        return token, float(q[token]), q

    def catch_up(self, text: list[int]) -> torch.Tensor:
        """Make the cache hold `text`; hidden [1, H] of its last token.

        Drafts that were rejected are taken back. The last draft of a step was never read: where it
        was accepted, it is read now, together with the root after it.
        """
        while self._agreed < min(len(text), len(self.read)) and (
            text[self._agreed] == self.read[self._agreed]
        ):
            self._agreed += 1
        kept = min(self._agreed, len(text) - 1)  # the last token's hidden state is needed
        self.cache.rewind(kept)
        hidden = prefill(self.model, text[kept:], self.cache)
        self.read[kept:] = text[kept:]
        self._agreed = len(text)
        return hidden

    def _forward(self, token: int) -> torch.Tensor:
        hidden = self.model.forward(torch.tensor([token]), *ONE_ROW, self.cache)
        self.cache.commit([0])
        self.read.append(token)
        return hidden


def fit(logits: torch.Tensor, size: int) -> torch.Tensor:
    """Logits [m, V'] over a vocabulary padded otherwise, as [m, size].

    Tokens that the base model does not have cannot be drafted, those that the draft model does not
    have never are: their q is 0.
    """
    if logits.shape[1] >= size:
        return logits[:, :size]
    return F.pad(logits, (0, size - logits.shape[1]), value=-torch.inf)
