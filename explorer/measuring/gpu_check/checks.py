"""What has to be right on a GPU, each compared with another way to the same result."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from explorer.analysis.gpu_report import Check
from explorer.decoding.acceptance import acceptance_rule
from explorer.decoding.cache import AnyCache, KVCache
from explorer.decoding.loop import StepResult, decode
from explorer.decoding.medusa import MedusaDrafter
from explorer.decoding.tree import Tree
from explorer.heads.heads import MedusaHeads
from explorer.measuring.probe import (
    ACCEPTED,
    TREE,
    Probe,
    causal_pass,
    difference,
    our_logits,
    own_logits,
)
from explorer.measuring.selfcheck import SAME_MEANING_ROUNDED
from explorer.models.base import LanguageModel
from explorer.records.settings import decode_settings

SAME_PASS = 0.1  # largest difference of the same pass by other kernels, of the logits' spread
SAME_STATES = 0.1  # of keys and values, of their largest
RULES = {
    "greedy": decode_settings(),
    "lossless sampling": decode_settings(temperature=0.8, top_p=0.9, seed=3),
    "typical acceptance": decode_settings(temperature=0.8, acceptance="typical", seed=3),
}
NEW_TOKENS = 24


@contextmanager
def eagerly(model: LanguageModel) -> Iterator[None]:
    """Inside this context the model's passes run one kernel at a time."""
    static, model.static = model.static, None
    try:
        yield
    finally:
        model.static = static


def all_checks(model: LanguageModel, heads: MedusaHeads, tree: Tree) -> list[Check]:
    """Passes, commits and verdicts, eager and in fixed shapes."""
    ways = [("in fixed shapes", our_passes(model)), ("eager", our_passes(model, eager=True))]
    theirs = _network_itself(model)
    checks = [
        _logits_check(f"tree pass = plain pass, {way}", logits, theirs, SAME_MEANING_ROUNDED)
        for way, logits in ways
    ]
    checks.append(_logits_check("fixed shapes = eager", ways[0][1], ways[1][1], SAME_PASS))
    checks.append(commit_check(model))
    checks += [verdict_check(model, heads, tree, rule) for rule in RULES]
    return checks


def our_passes(model: LanguageModel, eager: bool = False) -> torch.Tensor:
    """Logits of the probe by the product's own passes."""
    if eager:
        with eagerly(model):
            return our_logits(model, Probe.of(model))
    return our_logits(model, Probe.of(model))


def _network_itself(model: LanguageModel) -> torch.Tensor:
    with model.library_attention():
        return own_logits(model.network, Probe.of(model))


def _logits_check(name: str, ours: torch.Tensor, theirs: torch.Tensor, limit: float) -> Check:
    measured = float(difference(ours, theirs.to(ours.device)).max())
    return Check(name=name, measured=measured, limit=limit, of="logits, of their spread")


@torch.inference_mode()
def commit_check(model: LanguageModel) -> Check:
    """After a tree's commit the cache is that of a plain pass over the same text."""
    probe, tree, plain = Probe.of(model), KVCache.of(model), KVCache.of(model)
    causal_pass(model, probe.prefix, tree)
    model.forward(probe.tokens, TREE.depths, TREE.mask, tree)
    tree.commit(ACCEPTED)
    causal_pass(model, torch.cat([probe.prefix, probe.tokens[ACCEPTED]]), plain)
    worst = max(
        float((a - b).abs().max() / b.abs().max().clamp(min=1e-6))
        for a, b in zip(_states(tree), _states(plain), strict=True)
    )
    name = "committed cache = plain cache"
    return Check(name=name, measured=worst, limit=SAME_STATES, of="keys and values, of the largest")


def _states(cache: AnyCache) -> list[torch.Tensor]:
    return [states.float() for layer in cache.layers for states in layer.committed()]


def verdict_check(model: LanguageModel, heads: MedusaHeads, tree: Tree, rule: str) -> Check:
    """Every step's verdict is the one that the rule itself gives on the step's logits."""
    settings = RULES[rule]
    prompt = list(range(5, 37))
    judge = acceptance_rule(settings, model.context_length)
    steps = decode(model, MedusaDrafter(heads, tree), judge, prompt, NEW_TOKENS)
    wrong = total = 0
    for result in steps:
        if isinstance(result, StepResult) and result.verdict and result.logits is not None:
            again = judge.judge(result.draft, result.logits, result.context_length)
            total += 1
            wrong += (again.path, again.bonus) != (result.verdict.path, result.verdict.bonus)
    return Check(
        name=f"verdicts of {rule}",
        measured=wrong if total else 1,
        limit=0,
        of=f"verdicts of {total} that the rule itself does not give",
    )
