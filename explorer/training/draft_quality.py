"""The accuracy of a draft model on held-out text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from explorer.models.base import LanguageModel
from explorer.models.draft import DraftModel
from explorer.training.data import Conversation
from explorer.training.distil import reply_states
from explorer.training.evaluate import CONVERSATIONS_AT_A_TIME, first_choices
from explorer.training.hidden_cache import HiddenCache

CHAIN = 4  # tokens that a draft guesses in one step, for the mean accepted chain
FIGURES = ("agreement", "accepted_chain")


@dataclass(frozen=True)
class HeldOut:
    """Held-out conversations, and the base model's first choice for every reply token.

    choices[i] int64 [len(response)] belongs to conversations[i].
    """

    conversations: list[Conversation]
    choices: list[torch.Tensor]

    @classmethod
    def of(
        cls,
        model: LanguageModel,
        conversations: Sequence[Conversation],
        cache: HiddenCache,
        held: Sequence[int],
    ) -> HeldOut:
        """The conversations whose indices are `held`, with the base model's choices."""
        chosen = [conversations[i] for i in held]
        states = cache.hidden[cache.rows_of(held)]
        lengths = [len(c.response) for c in chosen]
        return cls(chosen, list(first_choices(model, states).split(lengths)))


@torch.inference_mode()
def draft_quality(draft: DraftModel, held_out: HeldOut) -> dict[str, float]:
    """`agreement`: share of positions where the draft's first choice is the base model's.

    `accepted_chain`: mean number of drafts that greedy verification accepts a step, of CHAIN
    guessed, where the text is the base model's own greedy reply.
    """
    agree = total = accepted = steps = 0
    texts, choices = held_out.conversations, held_out.choices
    for start in range(0, len(texts), CONVERSATIONS_AT_A_TIME):
        part = texts[start : start + CONVERSATIONS_AT_A_TIME]
        with draft.library_attention():
            states = reply_states(draft, part)
        guesses = first_choices(draft, states).split([len(c.response) for c in part])
        for text, guess, choice in zip(part, guesses, choices[start:], strict=False):
            right = guess == choice
            greedy = torch.tensor(text.response) == choice
            chain = accepted_chain(right.tolist(), greedy.tolist())
            agree, total = agree + int(right.sum()), total + len(right)
            accepted, steps = accepted + chain[0], steps + chain[1]
    return {
        "agreement": round(agree / max(1, total), 4),
        "accepted_chain": round(accepted / max(1, steps), 4),
    }


def accepted_chain(
    right: Sequence[bool], greedy: Sequence[bool], length: int = CHAIN
) -> tuple[int, int]:
    """Drafts accepted, and steps, of greedy speculative decoding along one reply.

    right[i]: the draft's choice for reply token i is the base model's; greedy[i]: the token that
    follows is that choice. A step stands on a root, reply token i − 1, and accepts the draft's
    guesses for i, i + 1, … until the first wrong one; the token there is the next root. As long as
    a guess is right the draft's own input is the reply, so no further pass is needed. Steps that
    look beyond the base model's greedy text, or beyond its end, are left out.
    """
    accepted = steps = 0
    first = 1
    while first + length < len(right):
        run = next((j for j in range(length) if not right[first + j]), length)
        if all(greedy[first : first + run + 1]):
            accepted, steps = accepted + run, steps + 1
        first += run + 1
    return accepted, steps
