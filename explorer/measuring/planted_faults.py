"""Runs the model with one planted fault, and sees which check notices.

The faults are wrappers around the engine's own parts: the model (its mask, positions and cache) and
the acceptance rule. The loop, the heads and the kernels are those of every run.
"""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import torch

from explorer.decoding.acceptance import (
    NOT_ASKED,
    AcceptanceRule,
    Sample,
    Trial,
    Verdict,
    acceptance_rule,
)
from explorer.decoding.cache import AnyCache, KVCache
from explorer.decoding.drafter import Draft
from explorer.decoding.loop import decode
from explorer.decoding.registry import DrafterInputs, make_drafter
from explorer.decoding.sampling import Draws
from explorer.decoding.tree import causal_mask
from explorer.measuring.fault_checks import Written, audit_check, bit_check, chi_check
from explorer.models.chat import TokenTexts
from explorer.records.errors import ExplorerError
from explorer.records.faults import FAULTS, AuditCheck, BitCheck, ChiCheck, FaultReport
from explorer.records.methods import find_method
from explorer.records.settings import DecodeSettings, decode_settings

if TYPE_CHECKING:
    from explorer.measuring.lab_protocol import LabProtocol
    from explorer.models.base import LanguageModel

PROMPT = "Tell a short story about a lighthouse keeper who finds a letter in a bottle."
TREE, CHAIN = "cartesian:3,2,1", "chain:3"
TOKENS = 48
SEEDS, MORE_SEEDS = 8, 24  # sampled texts for the χ² test
TEMPERATURE = 1.0
ALARM = 0.001  # a p-value below it is no chance


class FaultyModel:
    """A model whose passes or whose cache have a fault; all else is the model's own."""

    def __init__(self, model: LanguageModel, fault: str) -> None:
        self._model = model
        self._fault = fault
        self.compiled = SimpleNamespace(cache=self._cache)  # where the loop gets its cache from

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def forward(
        self, tokens: torch.Tensor, offsets: torch.Tensor, mask: torch.Tensor, cache: AnyCache
    ) -> torch.Tensor:
        """See LanguageModel.forward."""
        n = len(tokens)
        if self._fault == "siblings":
            mask = causal_mask(n)
        elif self._fault == "positions":
            offsets = torch.arange(n)
        return self._model.forward(tokens, offsets, mask, cache)

    def _cache(self) -> AnyCache:
        compiled = self._model.compiled  # passes that are replayed could not be changed
        cache = compiled.cache() if compiled else KVCache.of_network(self._model)
        if self._fault == "stale-cache":
            commit = cache.commit
            cache.commit = lambda rows: commit(range(len(rows)))
        return cache


class _Wrapped(AcceptanceRule):
    """A rule that asks another one what comes next, and follows it wrongly."""

    def __init__(self, rule: AcceptanceRule) -> None:
        self._rule = rule

    def first(self, logits: torch.Tensor, position: int) -> int:
        """See AcceptanceRule."""
        return self._rule.first(logits, position)


class ByToken(_Wrapped):
    """Follows the last row that holds the wanted token, whoever its parent is."""

    def judge(self, draft: Draft, logits: torch.Tensor, position: int) -> Verdict:
        """See AcceptanceRule."""
        row_of = {token: row for row, token in enumerate(draft.tokens.tolist())}
        choices, path = [NOT_ASKED] * draft.tree.n, [0]
        while True:
            row = path[-1]
            choices[row] = token = self.first(logits[row], position + len(path))
            following = row_of.get(token, 0)
            if following <= row:
                return Verdict(path, token, choices)
            path.append(following)


class OwnRow(_Wrapped):
    """Accepts a child if the child's own row predicts the token that the child holds."""

    def judge(self, draft: Draft, logits: torch.Tensor, position: int) -> Verdict:
        """See AcceptanceRule."""
        tokens = draft.tokens.tolist()
        choices = [
            self.first(logits[row], position + depth + 1)
            for row, depth in enumerate(draft.tree.depths.tolist())
        ]
        path = [0]
        while True:
            children = draft.tree.children[path[-1]]
            accepted = next((row for row in children if choices[row] == tokens[row]), None)
            if accepted is None:
                return Verdict(path, choices[path[-1]], choices)
            path.append(accepted)


class NoResidual(Sample):
    """Rejection sampling that draws from p itself after a rejection."""

    def _try(
        self,
        candidates: list[tuple[int, int]],
        p: torch.Tensor,
        q: torch.Tensor | None,
        position: int,
    ) -> tuple[list[Trial], torch.Tensor]:
        return super()._try(candidates, p, q, position)[0], p


def run_with_fault(
    lab: LabProtocol, fault: str, cancel: threading.Event | None = None
) -> FaultReport:
    """Decode with one fault of records/faults.py, greedily and sampled, and run all checks.

    Raises ExplorerError for an unknown fault, a model without Medusa heads, or a cancel.
    """
    if fault not in FAULTS:
        raise ExplorerError(f"There is no fault '{fault:.40}': choose one of {', '.join(FAULTS)}.")
    greedy = decode_settings(method="medusa", tree=tree_of(fault), max_new_tokens=TOKENS)
    prompt = lab.encode(PROMPT, greedy)
    plain = Written.by(lab.steps(prompt, greedy.model_copy(update={"method": "plain"})), prompt)
    got = _written(lab, fault, prompt, greedy)
    sampled = []
    for seed in range(MORE_SEEDS if _draws_wrongly(fault) else SEEDS):
        if cancel is not None and cancel.is_set():
            raise ExplorerError("The run was stopped.")
        sampled.append(_written(lab, fault, prompt, _sampling(fault, seed)))
    pieces = TokenTexts(lab.model.tokenizer)
    texts = [[pieces[token].label for token in one.tokens] for one in (plain, got)]
    return _report(
        lab.model,
        fault,
        texts,
        got.steps,
        bit_check(lab.model, got),
        audit_check(plain.tokens, got.tokens, lambda token: pieces[token].label),
        chi_check(lab.model, sampled, _sampling(fault, 0)),
    )


def _draws_wrongly(fault: str) -> bool:
    """Whether a fault shows in a distribution only, and there faintly: it takes many draws."""
    return fault == "residual"


def tree_of(fault: str) -> str:
    """The tree of a run: chains where rejections should be many."""
    return CHAIN if _draws_wrongly(fault) else TREE


def _sampling(fault: str, seed: int) -> DecodeSettings:
    """Settings of the sampled texts; only drawn candidates are judged by rejection."""
    return decode_settings(
        method="medusa",
        tree=tree_of(fault),
        acceptance="sample",
        temperature=TEMPERATURE,
        seed=seed,
        max_new_tokens=TOKENS,
        candidates="drawn" if _draws_wrongly(fault) else "top",
    )


def _written(lab: LabProtocol, fault: str, prompt: list[int], settings: DecodeSettings) -> Written:
    """What the model writes with the fault."""
    chosen = lab.heads_for(settings)
    heads = chosen.heads if chosen else None
    tree = lab.tree_for(settings, len(prompt))
    inputs = DrafterInputs(lab.model, heads, tree, lab.draft_model)
    drafter = make_drafter(find_method(settings.method, lab.heads), inputs, settings)
    model = cast("LanguageModel", FaultyModel(lab.model, fault))
    rule = _rule(fault, settings, model.context_length)
    return Written.by(decode(model, drafter, rule, prompt, settings.max_new_tokens), prompt)


def _rule(fault: str, settings: DecodeSettings, positions: int) -> AcceptanceRule:
    """The settings' rule, with the fault if it lies there."""
    rule = acceptance_rule(settings, positions)
    if fault == "tokens":
        return ByToken(rule)
    if fault == "own-row":
        return OwnRow(rule)
    if _draws_wrongly(fault) and settings.rule == "sample":
        return NoResidual(settings, Draws(settings.seed, positions + 1))
    return rule


def _report(
    model: LanguageModel,
    fault: str,
    texts: list[list[str]],
    steps: int,
    bits: BitCheck | None,
    audit: AuditCheck,
    chi: ChiCheck,
) -> FaultReport:
    caught = {
        "bits": bits is not None and bits.differing > 0,
        "audit": audit.first is not None,
        "chi": chi.p_value < ALARM,
    }
    return FaultReport(
        fault=fault,
        model=model.name,
        backend=model.backend,
        prompt=PROMPT,
        tree=tree_of(fault),
        plain=texts[0],
        text=texts[1],
        steps=steps,
        bits=bits,
        audit=audit,
        chi=chi,
        caught_by=[name for name, found in caught.items() if found],
    )
