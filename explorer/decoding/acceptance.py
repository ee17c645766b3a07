"""Acceptance rules: which path of a verified tree becomes text, and what follows it.

The prediction that judges a node comes from its *parent's* row. Greedy and sample are lossless:
they ask the base model what comes next, row by row, and follow the child that holds the answer.
Typical acceptance (Medusa, arXiv 2401.10774, section 2.3.1) is not: it takes a candidate that the
base model finds likely enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch

from explorer.decoding.sampling import Draws, SamplingSettings, distribution
from explorer.decoding.tree import Tree

NOT_ASKED = -1


@dataclass(frozen=True)
class Verdict:
    """What a rule decided.

    path        rows of the accepted path, root first
    bonus       the base model's own token after the path
    choices     per row, the token wanted below it; NOT_ASKED where the rule never looked
    thresholds  per row, what the row's own probability had to exceed (typical acceptance only)
    """

    path: list[int]
    bonus: int
    choices: list[int]
    thresholds: list[float] | None = None


class AcceptanceRule(Protocol):
    """One rule, ready for one run."""

    def first(self, logits: torch.Tensor, position: int) -> int:
        """The first root: the token at absolute `position`, from logits [V]."""

    def judge(
        self, tree: Tree, tokens: torch.Tensor, logits: torch.Tensor, position: int
    ) -> Verdict:
        """The verdict on a pass: tokens [n] int64, logits [n, V], absolute position of the root."""


def follow(tree: Tree, tokens: list[int], wanted: Callable[[int], int]) -> tuple[list[int], int]:
    """From the root on, step to the child that holds what is `wanted(row)` after each row.

    Returns the path and the last wanted token, which no child held: the bonus.
    """
    path = [0]
    while True:
        token = wanted(path[-1])
        child = next((row for row in tree.children[path[-1]] if tokens[row] == token), None)
        if child is None:
            return path, token
        path.append(child)


class Greedy:
    """Temperature 0: the base model's argmax, always."""

    def first(self, logits: torch.Tensor, position: int) -> int:
        """See AcceptanceRule."""
        return int(logits.argmax())

    def judge(
        self, tree: Tree, tokens: torch.Tensor, logits: torch.Tensor, position: int
    ) -> Verdict:
        """See AcceptanceRule."""
        choices = logits.argmax(dim=-1).tolist()
        path, bonus = follow(tree, tokens.tolist(), choices.__getitem__)
        return Verdict(path, bonus, choices)


class Sample:
    """One draw per row from the base model's own distribution; follow the child that holds it.

    Each emitted token is a draw from what the base model gives at its place, so the text is
    distributed as in plain sampling, whatever candidates the heads offered.
    """

    def __init__(self, settings: SamplingSettings, draws: Draws) -> None:
        self._settings = settings
        self._draw = draws

    def first(self, logits: torch.Tensor, position: int) -> int:
        """See AcceptanceRule."""
        return self._draw(distribution(logits[None], self._settings)[0], position)

    def judge(
        self, tree: Tree, tokens: torch.Tensor, logits: torch.Tensor, position: int
    ) -> Verdict:
        """See AcceptanceRule."""
        choices = [NOT_ASKED] * tree.n

        def wanted(row: int) -> int:
            choices[row] = self.first(logits[row], position + int(tree.depths[row]) + 1)
            return choices[row]

        path, bonus = follow(tree, tokens.tolist(), wanted)
        return Verdict(path, bonus, choices)


class Typical:
    """Accept x if p(x) > min(ε, δ·exp(−H(p))), p and its entropy H after temperature.

    Of the accepted paths the longest wins, ties by likelihood. The bonus token is drawn from the
    base model's distribution after temperature, top-k and top-p. Changes the distribution.
    """

    def __init__(
        self, settings: SamplingSettings, draws: Draws, epsilon: float, delta: float
    ) -> None:
        self._sample = Sample(settings, draws)
        self._temperature = settings.temperature
        self._epsilon = epsilon
        self._delta = delta

    def first(self, logits: torch.Tensor, position: int) -> int:
        """See AcceptanceRule."""
        return self._sample.first(logits, position)

    def judge(
        self, tree: Tree, tokens: torch.Tensor, logits: torch.Tensor, position: int
    ) -> Verdict:
        """See AcceptanceRule."""
        log_probs = torch.log_softmax(logits / self._temperature, dim=-1)
        entropy = -torch.special.xlogy(log_probs.exp(), log_probs.exp()).sum(dim=-1)
        threshold = (self._delta * torch.exp(-entropy)).clamp(max=self._epsilon).tolist()  # [n]
        own = log_probs[tree.parents[1:], tokens[1:].to(log_probs.device)].tolist()  # nodes' log p
        reached = {0: 0.0}  # row → log-likelihood of its path
        for row, (parent, log_p) in enumerate(
            zip(tree.parents[1:].tolist(), own, strict=True), start=1
        ):
            if parent in reached and torch.e**log_p > threshold[parent]:
                reached[row] = reached[parent] + log_p
        last = max(reached, key=lambda row: (int(tree.depths[row]), reached[row]))
        path = tree.path_to(last)
        bonus = self.first(logits[last], position + len(path))
        choices = [NOT_ASKED] * tree.n
        choices[last] = bonus
        return Verdict(path, bonus, choices, [0.0] + [threshold[p] for p in tree.parents[1:]])


def acceptance_rule(settings, positions: int) -> AcceptanceRule:
    """The rule that the settings (explorer.config.DecodeSettings) ask for.

    `positions` bounds the absolute positions that may be drawn for: the context length.
    """
    if settings.rule == "greedy":
        return Greedy()
    draws = Draws(settings.seed, positions + 1)
    if settings.rule == "sample":
        return Sample(settings, draws)
    return Typical(settings, draws, settings.epsilon, settings.delta)
