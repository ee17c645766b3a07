"""Acceptance rules: which path of a verified tree becomes text, and what follows it.

The prediction that judges a node comes from its *parent's* row. Greedy and sample are lossless:
they ask the base model what comes next, row by row, and follow the child that holds the answer.
If the drafter *drew* its candidates and gives their distributions, sampling judges them by
rejection instead, which accepts more of them. Typical acceptance (Medusa, arXiv 2401.10774,
section 2.3.1) is not lossless: it takes a candidate that the base model finds likely enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from explorer.decoding.drafter import Draft, Proposals
from explorer.decoding.sampling import Draws, coin, distribution, without
from explorer.decoding.tree import Tree
from explorer.kernels.rows import argmax_rows
from explorer.records.settings import DecodeSettings

NOT_ASKED = -1


@dataclass(frozen=True)
class Trial:
    """A row's drawn candidate, tried by rejection sampling: p and q as they were just then.

    It is accepted if `coin`, a uniform number, is below `chance`, min(1, p/q).
    """

    row: int
    p: float
    q: float
    chance: float
    coin: float

    @property
    def accepted(self) -> bool:
        """What the coin decided."""
        return self.coin < self.chance


@dataclass(frozen=True)
class Verdict:
    """What a rule decided.

    path        rows of the accepted path, root first
    bonus       the base model's own token after the path
    choices     per row, the token wanted below it; NOT_ASKED where the rule never looked
    thresholds  per row, what the row's own probability had to exceed (typical acceptance only)
    trials      the candidates that were tried, in their order (rejection sampling only)
    residual    [V], what the bonus was drawn from after a rejection
    """

    path: list[int]
    bonus: int
    choices: list[int]
    thresholds: list[float] | None = None
    trials: list[Trial] | None = None
    residual: torch.Tensor | None = None


class AcceptanceRule:
    """One rule, ready for one run."""

    def first(self, logits: torch.Tensor, position: int) -> int:
        """The first root: the token at absolute `position`, from logits [V]."""
        raise NotImplementedError

    def judge(self, draft: Draft, logits: torch.Tensor, position: int) -> Verdict:
        """The verdict on the draft: logits [n, V] of its pass, absolute position of the root."""
        raise NotImplementedError

    def choices(self, draft: Draft, logits: torch.Tensor, position: int) -> torch.Tensor | None:
        """Per row the token wanted below it [n], beside the logits; None for rules that judge
        otherwise."""
        return None

    def verdict(self, path: list[int], choices: list[int]) -> Verdict:
        """The verdict on a path that follows `choices`, of which it looked at those of the path."""
        looked = [NOT_ASKED] * len(choices)
        for row in path:
            looked[row] = choices[row]
        return Verdict(path, choices[path[-1]], looked)


def follow(tree: Tree, tokens: list[int], wanted: Callable[[int], int]) -> tuple[list[int], int]:
    """From the root on, follow the child that holds `wanted(row)` after each row.

    Returns the path and the last wanted token, which no child held: the bonus.
    """
    path = [0]
    while True:
        token = wanted(path[-1])
        child = next((row for row in tree.children[path[-1]] if tokens[row] == token), None)
        if child is None:
            return path, token
        path.append(child)


class Greedy(AcceptanceRule):
    """Temperature 0: the base model's argmax, always."""

    def first(self, logits: torch.Tensor, position: int) -> int:
        """See AcceptanceRule."""
        return int(logits.argmax())

    def judge(self, draft: Draft, logits: torch.Tensor, position: int) -> Verdict:
        """See AcceptanceRule."""
        choices = argmax_rows(logits)
        path, bonus = follow(draft.tree, draft.tokens.tolist(), choices.__getitem__)
        return Verdict(path, bonus, choices)

    def choices(self, draft: Draft, logits: torch.Tensor, position: int) -> torch.Tensor | None:
        """See AcceptanceRule."""
        return logits.argmax(dim=-1)

    def verdict(self, path: list[int], choices: list[int]) -> Verdict:
        """See AcceptanceRule; this rule looks at every row."""
        return Verdict(path, choices[path[-1]], choices)


class Sample(AcceptanceRule):
    """One draw per row from the base model's own distribution; follow the child that holds it.

    Each emitted token is a draw from the base model's distribution at its position, so the text
    is distributed as in plain sampling, for any candidates. Candidates that
    were drawn, with `proposals`, are judged by rejection sampling, which is lossless for them
    alone: top-ranked candidates are not samples.
    """

    def __init__(self, settings: DecodeSettings, draws: Draws) -> None:
        self._settings = settings
        self._draw = draws

    def first(self, logits: torch.Tensor, position: int) -> int:
        """See AcceptanceRule."""
        return self._draw(distribution(logits[None], self._settings)[0], position)

    def judge(self, draft: Draft, logits: torch.Tensor, position: int) -> Verdict:
        """See AcceptanceRule."""
        if draft.proposals is not None:
            return self._reject(draft, draft.proposals, logits, position)
        tree, choices = draft.tree, [NOT_ASKED] * draft.tree.n

        def wanted(row: int) -> int:
            choices[row] = self.first(logits[row], position + int(tree.depths[row]) + 1)
            return choices[row]

        path, bonus = follow(tree, draft.tokens.tolist(), wanted)
        return Verdict(path, bonus, choices)

    def choices(self, draft: Draft, logits: torch.Tensor, position: int) -> torch.Tensor | None:
        """See AcceptanceRule."""
        if draft.proposals is not None:
            return None
        at = (draft.tree.depths + position + 1).tolist()
        return self._draw.each(distribution(logits, self._settings), at)

    def _reject(
        self, draft: Draft, proposals: Proposals, logits: torch.Tensor, position: int
    ) -> Verdict:
        """Rejection sampling down the tree, until a row accepts none of its children."""
        children, tokens = draft.tree.children, draft.tokens.tolist()
        choices, path = [NOT_ASKED] * draft.tree.n, [0]
        trials: list[Trial] = []
        while True:
            row, at = path[-1], position + len(path)
            p = distribution(logits[row][None], self._settings)[0]
            candidates = [(child, tokens[child]) for child in children[row]]
            tried, rest = self._try(candidates, p, proposals[row], at)
            trials += tried
            if not tried or not tried[-1].accepted:
                choices[row] = self._draw(rest, at)
                left = rest if tried else None
                return Verdict(path, choices[row], choices, trials=trials, residual=left)
            path.append(tried[-1].row)
            choices[row] = tokens[path[-1]]

    def _try(
        self,
        candidates: list[tuple[int, int]],
        p: torch.Tensor,
        q: torch.Tensor | None,
        position: int,
    ) -> tuple[list[Trial], torch.Tensor]:
        """Trials of candidates (row, token) until one is accepted, and what they left of p.

        A candidate x, drawn from q, is accepted with probability min(1, p(x)/q(x)); after a
        rejection p becomes norm(max(0, p − q)) and q loses x (Leviathan et al. 2023, section 2.3,
        and Chen et al. 2023 for one candidate; SpecInfer, Miao et al. 2024, section 4.3, for
        several; without replacement: Sequoia, Chen et al. 2024, section 3.2).
        """
        tried: list[Trial] = []
        for index, (row, token) in enumerate(candidates):
            if q is None or not q.any():  # nothing was left to draw: the rest is filling
                break
            chance = accept_probability(p, q, token)
            number = self._draw.toss(chance, position, coin(index))
            tried.append(Trial(row, float(p[token]), float(q[token]), chance, number))
            if tried[-1].accepted:
                break
            p, q = residual(p, q), without(q, token)
        return tried, p


def accept_probability(p: torch.Tensor, q: torch.Tensor, token: int) -> float:
    """min(1, p(x)/q(x)); where q(x) is 0, which no draw gives, whether p(x) is not."""
    wanted, offered = float(p[token]), float(q[token])
    return min(1.0, wanted / offered) if offered > 0 else float(wanted > 0)


def residual(p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    """norm(max(0, p − q)): the residual distribution after a draw from q was rejected.

    It is all zero only if p = q, and then nothing is ever rejected but by rounding: p is kept.
    """
    owed = (p - q).clamp(min=0)
    total = owed.sum()
    return owed / total if total > 0 else p


class Typical(AcceptanceRule):
    """Accept x if p(x) > min(ε, δ·exp(−H(p))), p and its entropy H after temperature.

    Of the accepted paths the longest wins, ties by likelihood. The bonus, the next root, follows
    `root_rule`: "greedy", the likeliest token (Medusa, section 2.3.1); "typical", a draw from the
    tokens above the threshold (its code, when it samples); "draw", a draw from the base model's
    distribution after temperature, top-k and top-p. Changes the distribution with all three.
    """

    def __init__(self, settings: DecodeSettings, draws: Draws) -> None:
        self._settings = settings
        self._draw = draws

    def first(self, logits: torch.Tensor, position: int) -> int:
        """See AcceptanceRule."""
        if self._settings.root_rule == "greedy":
            return int(logits.argmax())
        if self._settings.root_rule == "draw":
            return self._draw(distribution(logits[None], self._settings)[0], position)
        log_probs, threshold = self._thresholds(logits[None])
        allowed = (log_probs.exp() > threshold) | (log_probs == log_probs.max())
        return self._draw(torch.where(allowed, log_probs.exp(), 0.0)[0], position)

    def judge(self, draft: Draft, logits: torch.Tensor, position: int) -> Verdict:
        """See AcceptanceRule."""
        tree = draft.tree
        log_probs, thresholds = self._thresholds(logits)
        threshold = thresholds.tolist()
        nodes = draft.tokens[1:].to(log_probs.device)
        own = log_probs[tree.parents[1:], nodes].tolist()  # nodes' log p
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

    def _thresholds(self, logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """log p [n, V] after temperature, and what p must exceed at each row [n]."""
        log_probs = torch.log_softmax(logits / self._settings.temperature, dim=-1)
        entropy = -torch.special.xlogy(log_probs.exp(), log_probs.exp()).sum(dim=-1)
        bar = self._settings.delta * torch.exp(-entropy)
        return log_probs, bar.clamp(max=self._settings.epsilon)


def acceptance_rule(settings: DecodeSettings, positions: int) -> AcceptanceRule:
    """The rule that the settings ask for.

    `positions` bounds the absolute positions that may be drawn for: the context length.
    """
    if settings.rule == "greedy":
        return Greedy()
    draws = Draws(settings.seed, positions + 1)
    if settings.rule == "sample":
        return Sample(settings, draws)
    return Typical(settings, draws)
