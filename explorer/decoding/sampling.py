"""The distribution that the base model is sampled from, and draws from it.

The random numbers of a run lie in independent streams, each with one uniform number per absolute
position, all fixed by the seed (`Draws`). Text is drawn from the stream TEXT.

When the same seed gives the same text: a rule that draws each token from the base model and
follows the child that holds it (plain, medusa with its top candidates, lookahead, prompt-lookup)
uses one number per position, so what it writes at t depends on the seed and on what stands before
it, not on the tree, the method or the order of computation. Where the backend's logits are
bit-exact, all of these write the very text that plain decoding writes with the same seed.

When it cannot: rejection sampling (draft-model, medusa with drawn candidates) turns one position
into several random events (the candidates, a coin each, the draw from the residual), and which
token they lead to depends on what was drafted. The text has plain's distribution, and the same
seed, settings and drafter repeat it, but it is another text than plain's.

A position is judged once, and nothing before it depends on its numbers. So a candidate that was
drawn for it, pruned unjudged and drawn again in a later step may use the same number again.
"""

from __future__ import annotations

import numpy as np
import torch

from explorer.kernels.lm_head import top_columns
from explorer.records.settings import DecodeSettings

Stream = tuple[int, ...]
NUCLEUS_TRY = 256  # tokens among which the nucleus is looked for before sorting everything


def distribution(logits: torch.Tensor, settings: DecodeSettings) -> torch.Tensor:
    """Probabilities [m, V] float32 of logits [m, V]: temperature, then top-k, then top-p.

    At temperature 0 all probability is on the argmax.
    """
    if settings.temperature == 0:
        probs = torch.zeros_like(logits)
        return probs.scatter_(1, logits.argmax(dim=-1, keepdim=True), 1.0)
    scaled = logits / settings.temperature
    scaled = scaled - scaled.amax(dim=-1, keepdim=True)  # no temperature can overflow exp
    if 0 < settings.top_k < scaled.shape[1]:
        kept = top_columns(scaled, settings.top_k)
        scaled = torch.full_like(scaled, -torch.inf).scatter_(1, kept, scaled.gather(1, kept))
    probs = torch.softmax(scaled, dim=-1)
    return probs if settings.top_p >= 1.0 else _nucleus(probs, settings.top_p)


def _nucleus(probs: torch.Tensor, top_p: float) -> torch.Tensor:
    """The smallest set of likeliest tokens that holds `top_p`, renormalised (top-p sampling)."""
    candidates = min(NUCLEUS_TRY, probs.shape[1])
    columns = top_columns(probs, candidates)
    # On a GPU sorting all is cheaper than waiting to learn whether it is needed.
    if probs.is_cuda or (probs.gather(1, columns).sum(dim=-1) < top_p).any():
        columns = probs.argsort(dim=-1, descending=True, stable=True)
    ranked = probs.gather(1, columns)
    before = ranked.cumsum(dim=-1, dtype=torch.float64) - ranked  # mass of the likelier tokens
    ranked = torch.where(before < top_p, ranked, 0.0)
    ranked = ranked / ranked.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter_(1, columns, ranked)


TEXT: Stream = ()


def drafting(candidate: int) -> Stream:
    """The stream that a drafter draws its 0-based `candidate` for a position from."""
    return (1, candidate)


def coin(candidate: int) -> Stream:
    """The stream that decides whether this candidate for a position is accepted."""
    return (2, candidate)


class Draws:
    """The random numbers of a run, by stream and absolute position."""

    def __init__(self, seed: int, positions: int) -> None:
        self._seed = seed
        self._positions = positions
        self._streams: dict[Stream, np.ndarray] = {}

    def _uniform(self, position: int, stream: Stream) -> float:
        if stream not in self._streams:
            source = np.random.SeedSequence(self._seed, spawn_key=stream)
            self._streams[stream] = np.random.default_rng(source).random(self._positions)
        return self._streams[stream][position]

    def __call__(self, probs: torch.Tensor, position: int, stream: Stream = TEXT) -> int:
        """A token drawn from probs [V] for the given absolute position."""
        return int(self.each(probs[None], [position], stream)[0])

    def each(
        self, probs: torch.Tensor, positions: list[int], stream: Stream = TEXT
    ) -> torch.Tensor:
        """A token for each row of probs [n, V], beside them, at these absolute positions [n].

        By inverting the cumulative distribution; probs need not sum to 1.
        """
        cumulative = probs.double().cumsum(dim=-1)
        numbers = [self._uniform(at, stream) for at in positions]
        uniform = torch.tensor(numbers, dtype=torch.float64).to(probs.device, non_blocking=True)
        thresholds = uniform[:, None] * cumulative[:, -1:]
        # right=True: the first token whose cumulative mass exceeds u, never one of mass 0
        return torch.searchsorted(cumulative, thresholds, right=True)[:, 0]

    def toss(self, probability: float, position: int, stream: Stream) -> float:
        """A number in [0, 1): below `probability` exactly when such an event takes place."""
        return self._uniform(position, stream)


def without(probs: torch.Tensor, token: int) -> torch.Tensor:
    """probs [V] given that it is not `token`; all zero if nothing else was possible."""
    rest = probs.clone()
    rest[token] = 0
    total = rest.sum()
    return rest / total if total > 0 else rest
