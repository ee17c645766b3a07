"""The loop that every method shares: draft → verify → accept → commit.

A method is a drafter: it offers a candidate tree with a token at every row. Plain decoding is the
drafter that offers the bare root, so both lanes of a race run this very code.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

import torch
import torch.nn.functional as F

from explorer.decoding.acceptance import AcceptanceRule, Proposals, Verdict
from explorer.decoding.cache import KVCache
from explorer.decoding.tree import ROOT_ONLY, Tree, causal_mask
from explorer.models.base import LanguageModel
from explorer.records.schema import LookaheadState

PREFILL_CHUNK = 256  # tokens a pass


@dataclass(frozen=True)
class ExtraRows:
    """Rows of the pass behind the tree's that the drafter wants computed, never committed.

    tokens, offsets [m]: as in LanguageModel.forward; visible [m, n + m]: of all rows of the pass.
    The logits of the last `asked` of them [asked, V] go to `tell` after the pass.
    """

    tokens: torch.Tensor
    offsets: torch.Tensor
    visible: torch.Tensor
    asked: int
    tell: Callable[[torch.Tensor], None]


@dataclass(frozen=True)
class Draft:
    """A candidate tree with tokens. tokens, probs [n]; probs[i]: the drafter's, given its path.

    heads      where heads drafted: their ids and probabilities, best first, [K, top] each
    below      where guesses depend on the path: per row that has any, ids and probabilities [top]
    proposals  where candidates were drawn: see AcceptanceRule.judge
    price      where nodes had to be worth their rows: what they cost, in tokens (tree.Prices)
    extra      rows of a lookahead branch, and `lookahead`, what to show of it
    """

    tree: Tree
    tokens: torch.Tensor
    probs: torch.Tensor
    heads: tuple[torch.Tensor, torch.Tensor] | None = None
    below: dict[int, tuple[torch.Tensor, torch.Tensor]] | None = None
    proposals: Proposals | None = None
    price: float | None = None
    extra: ExtraRows | None = None
    lookahead: LookaheadState | None = None


@dataclass(frozen=True)
class Context:
    """What a drafter may look at: where the text stands.

    root      the token at position len(text) − 1, chosen but not yet in the KV cache
    hidden    [1, H], the hidden state that chose it, of the position before
    text      token ids of prompt and reply, the root included
    max_depth how deep a tree may be: no deeper than what is still wanted
    """

    root: int
    hidden: torch.Tensor
    text: list[int]
    max_depth: int


class Drafter(Protocol):
    """A method's own part of a step. `Stopwatch.lap` tells where its time went.

    A drafter that reads the prompt too has `begin(prompt)`, which is part of the prefill.
    """

    def draft(self, context: Context, clock: Stopwatch) -> Draft:
        """The candidate tree for this step; its root is `context.root`."""


class Stopwatch:
    """Splits a step's time into named laps, in seconds, with the device's queue emptied first."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self.laps: dict[str, float] = {}
        self._last = self._now()

    def _now(self) -> float:
        self._model.synchronise()
        return time.perf_counter()

    def lap(self, name: str) -> None:
        """Book the time since the last lap under `name`."""
        now = self._now()
        self.laps[name] = self.laps.get(name, 0.0) + now - self._last
        self._last = now


@dataclass(frozen=True)
class Prefilled:
    """The prompt is in the cache. hidden [1, H] and logits [V] of its last token."""

    hidden: torch.Tensor
    logits: torch.Tensor
    root: int
    seconds: float


@dataclass(frozen=True)
class StepResult:
    """One step, with its tensors. Without a verify pass, `verdict` and the tensors are None.

    hidden [n, H] and logits [n, V] of the pass; context_length: cached tokens before it;
    emitted: the tokens that became text; laps: seconds by name (records.schema.Timings).
    """

    draft: Draft
    context_length: int
    emitted: list[int]
    verdict: Verdict | None = None
    hidden: torch.Tensor | None = None
    logits: torch.Tensor | None = None
    laps: dict[str, float] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """The step's time on its lane's clock."""
        return sum(self.laps.values())


def bare_root(root: int) -> Draft:
    """The draft without candidates: plain decoding's."""
    return Draft(ROOT_ONLY, torch.tensor([root]), torch.ones(1))


def prefill(model: LanguageModel, prompt: list[int], cache: KVCache) -> torch.Tensor:
    """Read the prompt into the cache in causal passes; hidden [1, H] of its last token."""
    for part in torch.tensor(prompt).split(PREFILL_CHUNK):
        n = part.numel()
        hidden = model.forward(part, torch.arange(n), causal_mask(n), cache)
        cache.commit(range(n))
    return hidden[-1:]


@torch.inference_mode()
def decode(
    model: LanguageModel,
    drafter: Drafter,
    rule: AcceptanceRule,
    prompt: list[int],
    max_new_tokens: int,
) -> Iterator[Prefilled | StepResult]:
    """Decode a prompt: one Prefilled, then a StepResult per step, until the text ends.

    It ends at an end-of-sequence token, after `max_new_tokens`, or at the context limit. Closing
    the generator frees the cache.
    """
    cache, text = KVCache.of(model), list(prompt)
    clock = Stopwatch(model)
    hidden = prefill(model, prompt, cache)
    logits = model.logits(hidden)[0]
    root = rule.first(logits, len(prompt))
    if hasattr(drafter, "begin"):
        drafter.begin(prompt)
    clock.lap("prefill")
    yield Prefilled(hidden, logits, root, clock.laps["prefill"])
    left = min(max_new_tokens, model.context_length - len(prompt))
    while left > 0:
        if left == 1 or root in model.eos_ids:  # nothing can follow: no pass is needed
            yield StepResult(bare_root(root), cache.length, [root])
            return
        text.append(root)
        result = _step(model, drafter, rule, cache, Context(root, hidden, text, left - 1))
        text.extend(result.emitted[1:])
        left -= len(result.emitted)
        yield result
        if result.emitted[-1] in model.eos_ids:
            return
        last = result.verdict.path[-1]
        hidden, root = result.hidden[last : last + 1], result.verdict.bonus


def _step(
    model: LanguageModel, drafter: Drafter, rule: AcceptanceRule, cache: KVCache, context: Context
) -> StepResult:
    clock, length = Stopwatch(model), cache.length
    draft = drafter.draft(context, clock)
    clock.lap("draft")
    hidden, logits, asked = _verify(model, draft, cache)
    clock.lap("verify")
    if asked is not None:
        draft.extra.tell(asked)
        clock.lap("draft")
    verdict = rule.judge(draft.tree, draft.tokens, logits, length, draft.proposals)
    emitted = until_eos(draft.tokens[verdict.path].tolist(), model.eos_ids)
    clock.lap("accept")
    cache.commit(verdict.path)
    clock.lap("commit")
    return StepResult(draft, length, emitted, verdict, hidden, logits, clock.laps)


def _verify(
    model: LanguageModel, draft: Draft, cache: KVCache
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """One pass over the tree's rows, and extra rows if there are any.

    Returns hidden [n, H] and logits [n, V] of the tree, and the logits that extra rows asked for.
    """
    tree, extra = draft.tree, draft.extra
    if extra is None:
        hidden = model.forward(draft.tokens, tree.depths, tree.mask, cache)
        return hidden, model.logits(hidden), None
    n, rows = tree.n, torch.cat([draft.tokens, extra.tokens])
    visible = torch.cat([F.pad(tree.mask, (0, len(extra.tokens))), extra.visible])
    hidden = model.forward(rows, torch.cat([tree.depths, extra.offsets]), visible, cache)
    logits = model.logits(torch.cat([hidden[:n], hidden[len(rows) - extra.asked :]]))
    return hidden[:n], logits[:n], logits[n:]


def until_eos(tokens: list[int], eos_ids: frozenset[int]) -> list[int]:
    """The tokens up to the first end-of-sequence token, which is kept."""
    end = next((i for i, token in enumerate(tokens, start=1) if token in eos_ids), len(tokens))
    return tokens[:end]
