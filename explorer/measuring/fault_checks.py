"""The three checks that a planted fault must get past: bits, greedy text, sampled distribution."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from explorer.analysis.races import first_difference
from explorer.decoding.cache import KVCache
from explorer.decoding.loop import PREFILL_CHUNK, Prefilled, StepResult
from explorer.decoding.sampling import distribution
from explorer.decoding.tree import causal_mask
from explorer.records.faults import AuditCheck, BitCheck, ChiCheck

if TYPE_CHECKING:
    from explorer.models.base import LanguageModel
    from explorer.records.settings import DecodeSettings

BINS = 10


@dataclass(frozen=True)
class Written:
    """What a run wrote, by index of the new tokens.

    hidden  the states [H] of the verified ones
    drawn   the distributions [V] that a drafter drew from in their place
    """

    prompt: list[int]
    tokens: list[int]
    steps: int
    hidden: dict[int, torch.Tensor]
    drawn: dict[int, torch.Tensor]

    @classmethod
    def by(cls, steps: Iterable[Prefilled | StepResult], prompt: list[int]) -> Written:
        """Run the steps to their end."""
        tokens: list[int] = []
        count = 0
        hidden: dict[int, torch.Tensor] = {}
        drawn: dict[int, torch.Tensor] = {}
        for step in steps:
            if isinstance(step, Prefilled):
                continue
            if step.verdict is not None and step.hidden is not None:
                path = step.verdict.path[: len(step.emitted)]
                hidden |= {len(tokens) + i: step.hidden[row] for i, row in enumerate(path)}
                for i, row in enumerate(path):
                    q = step.draft.proposals[row] if step.draft.proposals else None
                    if q is not None:
                        drawn[len(tokens) + i + 1] = q
            tokens += step.emitted
            count += 1
        return cls(prompt, tokens, count, hidden, drawn)


@torch.inference_mode()
def hidden_of(model: LanguageModel, ids: Sequence[int]) -> torch.Tensor:
    """Hidden states [T, H] of a text, by the engine's own causal passes."""
    cache, parts = KVCache.of(model, len(ids)), []
    for part in torch.tensor(ids).split(PREFILL_CHUNK):
        n = len(part)
        parts.append(model.forward(part, torch.arange(n), causal_mask(n), cache))
        cache.commit(range(n))
    return torch.cat(parts)


def bit_check(model: LanguageModel, written: Written) -> BitCheck | None:
    """Compare every verified row of the text with a plain pass; None: rows are not bit-exact."""
    if not model.bit_exact:
        return None
    expected = hidden_of(model, [*written.prompt, *written.tokens])[len(written.prompt) :]
    differing = [i for i, row in written.hidden.items() if not torch.equal(row, expected[i])]
    first = min(differing, default=None)
    return BitCheck(rows=len(written.hidden), differing=len(differing), first=first)


def audit_check(
    expected: Sequence[int], got: Sequence[int], label: Callable[[int], str]
) -> AuditCheck:
    """Compare greedy text with greedy plain decoding's."""
    at = first_difference(expected, got)
    shown = [None if at is None or at >= len(text) else label(text[at]) for text in (expected, got)]
    return AuditCheck(tokens=len(expected), first=at, wanted=shown[0], got=shown[1])


def chi_check(model: LanguageModel, texts: Sequence[Written], settings: DecodeSettings) -> ChiCheck:
    """Pearson's χ² test that each token was drawn from the base model's distribution there.

    A token's place among the cumulative probabilities, in any order that does not depend on it, at
    a random point within its own, is uniform for a sample (randomised probability integral
    transform); it falls into one of ten equal bins. The order is that in which a fault would show:
    the likeliest first, or where a drafter drew, those that it overrates most.
    """
    inside = np.random.default_rng(0)
    places = np.concatenate([_places(model, text, settings, inside) for text in texts])
    counts = np.bincount((places * BINS).astype(int).clip(0, BINS - 1), minlength=BINS)
    expected = len(places) / BINS
    statistic = float(((counts - expected) ** 2).sum() / expected)
    halves = torch.tensor([(BINS - 1) / 2, statistic / 2], dtype=torch.float64)
    return ChiCheck(
        tokens=len(places),
        counts=counts.tolist(),
        statistic=statistic,
        p_value=float(torch.special.gammaincc(*halves)),
    )


@torch.inference_mode()
def _places(
    model: LanguageModel, text: Written, settings: DecodeSettings, inside: np.random.Generator
) -> np.ndarray:
    """Of each new token, its place in (0, 1) in the distribution that it should be drawn from."""
    ids = [*text.prompt, *text.tokens]
    first = len(text.prompt) - 1
    probs = distribution(model.logits(hidden_of(model, ids[:-1])[first:]), settings).double()
    order = probs.clone()
    for i, q in text.drawn.items():
        if i < len(order):
            order[i] = q / probs[i].clamp(min=1e-30)
    own = order.gather(1, torch.tensor(text.tokens)[:, None])
    before = torch.where(order > own, probs, 0.0).sum(dim=1)
    beside = torch.where(order == own, probs, 0.0).sum(dim=1)  # itself, and its equals
    return (before + beside * torch.from_numpy(inside.random(len(text.tokens)))).numpy()
