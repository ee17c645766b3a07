"""The loop that every method shares: draft → verify → accept → commit.

A method is a drafter: it offers a candidate tree with a token at every row. Plain decoding is the
drafter that offers the bare root, so both lanes of a race run this very code.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F

from explorer.decoding.acceptance import AcceptanceRule, Verdict
from explorer.decoding.ahead import judge_ahead
from explorer.decoding.cache import AnyCache, KVCache
from explorer.decoding.drafter import Context, Draft, Drafter, bare_root
from explorer.decoding.tree import causal_mask
from explorer.models.base import LanguageModel
from explorer.models.clock import Stopwatch
from explorer.models.static_cache import StaticCache

PREFILL_CHUNK = 256  # tokens a pass


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
    emitted: the tokens that became text; laps: seconds by name (records.step.Timings).
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

    def next_root(self) -> tuple[torch.Tensor, int]:
        """The next root, and before it the hidden state [1, H] that chose it."""
        assert self.verdict is not None
        assert self.hidden is not None
        last = self.verdict.path[-1]
        return self.hidden[last : last + 1], self.verdict.bonus


def prefill(model: LanguageModel, prompt: list[int], cache: AnyCache) -> torch.Tensor:
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
) -> Generator[Prefilled | StepResult, None, None]:
    """Decode a prompt: one Prefilled, then a StepResult per step, until the text ends.

    It ends at an end-of-sequence token, after `max_new_tokens`, or at the context limit. Closing
    the generator frees the cache.
    """
    cache, text = KVCache.of(model, len(prompt) + max_new_tokens), list(prompt)
    clock = model.stopwatch()
    hidden = prefill(model, prompt, cache)
    logits = model.logits(hidden)[0]
    root = rule.first(logits, len(prompt))
    drafter.begin(prompt)
    clock.lap("prefill")
    yield Prefilled(hidden, logits, root, clock.laps["prefill"])
    left = min(max_new_tokens, model.context_length - len(prompt))
    while left > 0:
        if left == 1 or root in model.eos_ids:  # nothing can follow: no pass is needed
            yield StepResult(bare_root(root), cache.length, [root])
            return
        text.append(root)
        context = Context(root, hidden, text, left - 1, (clock := model.stopwatch()).lap)
        result = step(model, drafter, rule, cache, context, clock)
        yield result
        if result.emitted[-1] in model.eos_ids:
            return
        text.extend(result.emitted[1:])
        left -= len(result.emitted)
        hidden, root = result.next_root()


def step(
    model: LanguageModel,
    drafter: Drafter,
    rule: AcceptanceRule,
    cache: AnyCache,
    context: Context,
    clock: Stopwatch,
) -> StepResult:
    """One step: draft, verify, accept, commit."""
    length = cache.length
    draft = drafter.draft(context)
    clock.lap("draft")
    hidden, logits, asked = _verify(model, draft, cache)
    clock.lap("verify")
    if asked is not None:
        drafter.update(asked)
        clock.lap("draft")
    verdict = None
    if isinstance(cache, StaticCache) and draft.extra is None:
        verdict = judge_ahead(rule, drafter, draft, hidden, logits, cache, clock.lap)
    verdict = verdict or rule.judge(draft, logits, length)
    emitted = until_eos(draft.tokens[verdict.path].tolist(), model.eos_ids)
    clock.lap("accept")
    cache.commit(verdict.path)
    clock.lap("commit")
    return StepResult(draft, length, emitted, verdict, hidden, logits, clock.laps)


def _verify(
    model: LanguageModel, draft: Draft, cache: AnyCache
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """One pass over the tree's rows, and extra rows if there are any.

    Returns hidden [n, H] and logits [n, V] of the tree, and the logits that extra rows asked for.
    """
    tree, extra = draft.tree, draft.extra
    if extra is None:
        hidden = model.forward(draft.tokens, tree.depths, tree.mask, cache)
        return hidden, model.logits(hidden), None
    n, rows = tree.n, torch.cat([draft.tokens, extra.tokens])
    mask = torch.cat([F.pad(tree.mask, (0, len(extra.tokens))), extra.mask])
    hidden = model.forward(rows, torch.cat([tree.depths, extra.offsets]), mask, cache)
    logits = model.logits(torch.cat([hidden[:n], hidden[len(rows) - extra.asked :]]))
    return hidden[:n], logits[:n], logits[n:]


def until_eos(tokens: list[int], eos_ids: frozenset[int]) -> list[int]:
    """The tokens up to the first end-of-sequence token, which is kept."""
    end = next((i for i, token in enumerate(tokens, start=1) if token in eos_ids), len(tokens))
    return tokens[:end]
