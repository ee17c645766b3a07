"""The speedup at a given yield: heads that read the known continuation, and are right so often.

The heads run, and so does the base model; only what they guess and what it says is replaced by a
text that is known beforehand. So a step costs what it costs, and yields what was asked for.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np
import torch

from explorer.analysis.gpu_report import YieldPoint
from explorer.analysis.shares import shares
from explorer.decoding.acceptance import AcceptanceRule, Verdict, follow
from explorer.decoding.drafter import Context, Draft, Drafter
from explorer.decoding.loop import StepResult, decode
from explorer.decoding.medusa import MedusaDrafter
from explorer.decoding.plain import PlainDrafter
from explorer.decoding.tree import Tree
from explorer.heads.heads import MedusaHeads
from explorer.measuring.race import interleave
from explorer.models.base import LanguageModel

YIELDS = (1.5, 2.0, 2.5, 3.0, 3.5)  # tokens per step that are asked for
WARM_UP = 16  # new tokens before a race that is timed


class KnownText(AcceptanceRule):
    """Greedy, of a base model that is taken to write a known text."""

    def __init__(self, text: torch.Tensor) -> None:
        """text: int64 [length], prompt included, beside the logits to come."""
        self._text = text

    def first(self, logits: torch.Tensor, position: int) -> int:
        """See AcceptanceRule."""
        return int(self._text[position])

    def choices(self, draft: Draft, logits: torch.Tensor, position: int) -> torch.Tensor:
        """See AcceptanceRule; the argmax is taken, for its time, and replaced."""
        at = (draft.tree.depths + position + 1).to(self._text.device)
        return torch.where(logits.argmax(dim=-1) >= 0, self._text[at], 0)

    def judge(self, draft: Draft, logits: torch.Tensor, position: int) -> Verdict:
        """See AcceptanceRule."""
        choices = self.choices(draft, logits, position).tolist()
        path, bonus = follow(draft.tree, draft.tokens.tolist(), choices.__getitem__)
        return Verdict(path, bonus, choices)


class OracleDrafter(MedusaDrafter):
    """Runs the heads, then puts in their place guesses that are right with probability `a`.

    Only first guesses are ever right: the node at rank path (0, …, 0) of depth d holds the token
    that comes with probability a, given that those above it do; all others hold wrong ones.
    """

    def __init__(
        self, heads: MedusaHeads, tree: Tree, text: Sequence[int], right: float, seed: int = 0
    ) -> None:
        super().__init__(heads, tree)
        self._text = torch.tensor(text)
        generator = np.random.default_rng(seed)
        size = (len(text) + 1, tree.depth + 1)
        self._right = torch.from_numpy(generator.random(size) < right)
        self._vocabulary = heads.config.vocab_size

    def draft(self, context: Context) -> Draft:
        """The tree with its tokens replaced."""
        draft = super().draft(context)
        tree, root = draft.tree, len(context.text) - 1
        known = self._text[root + tree.depths]
        first = (tree.mask * tree.ranks).sum(dim=-1) == 0  # all ranks on its path are 0
        right = first & self._right[root, tree.depths]
        wrong = (known + 1 + tree.ranks) % self._vocabulary
        tokens = torch.where(right, known, wrong)
        tokens[0] = context.root
        return dataclasses.replace(draft, tokens=tokens)


def right_for(tokens_per_step: float, depth: int) -> float:
    """The a with 1 + a + … + a^depth = tokens_per_step (the expected yield of a chain)."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        enough = sum(middle**d for d in range(depth + 1)) >= tokens_per_step
        low, high = (low, middle) if enough else (middle, high)
    return high


def race_at(
    model: LanguageModel, heads: MedusaHeads, tree: Tree, tokens_per_step: float, new_tokens: int
) -> YieldPoint:
    """Plain decoding and the tree with oracle guesses, interleaved on the same text."""
    for length in (WARM_UP, new_tokens):  # the first race records what it meets
        lanes = _race(model, heads, tree, tokens_per_step, length)
    plain, tried = (_figures(lanes[name]) for name in ("plain", "medusa"))
    return YieldPoint(
        asked=tokens_per_step,
        measured=tried[0],
        plain_ms=plain[1] / plain[0],
        step_ms=tried[1],
        speedup=(tried[0] / tried[1]) / (plain[0] / plain[1]),
        plain_shares=shares(step.laps for step in lanes["plain"]),
        shares=shares(step.laps for step in lanes["medusa"]),
    )


def _race(
    model: LanguageModel, heads: MedusaHeads, tree: Tree, tokens_per_step: float, new_tokens: int
) -> dict[str, list[StepResult]]:
    prompt = min(128, model.context_length // 4)
    room = prompt + new_tokens + tree.depth + 2
    text = (torch.arange(room) * 7919 + 5) % model.vocab_size
    known = text.to(model.lm_head.weight.device)
    right = right_for(tokens_per_step, tree.depth)
    drafters: dict[str, Drafter] = {
        "plain": PlainDrafter(),
        "medusa": OracleDrafter(heads, tree, text.tolist(), right),
    }
    ids = text[:prompt].tolist()
    lanes = {
        name: decode(model, drafter, KnownText(known), ids, new_tokens)
        for name, drafter in drafters.items()
    }
    found: dict[str, list[StepResult]] = {name: [] for name in lanes}
    for name, item in interleave(lanes, turn=4):
        if isinstance(item, StepResult) and item.verdict is not None:
            found[name].append(item)
    return found


def _figures(steps: Iterable[StepResult]) -> tuple[float, float]:
    """Tokens per step, and the milliseconds of a mean step."""
    steps = list(steps)
    tokens = sum(len(step.emitted) for step in steps)
    return tokens / len(steps), 1000 * sum(step.seconds for step in steps) / len(steps)
