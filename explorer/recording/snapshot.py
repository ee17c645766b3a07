"""What a step leaves for its record: taken at once, made into a record later.

A step's logits are megabytes, and the next pass may not wait for their record. So a snapshot keeps
what the record needs of them, which takes one compiled call; everything else can be worked out
between steps, or when the run is over.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import torch

from explorer.decoding.acceptance import Verdict
from explorer.decoding.drafter import Draft, Proposals
from explorer.decoding.loop import Prefilled, StepResult
from explorer.decoding.sampling import distribution
from explorer.kernels.row_figures import RowFigures, row_figures
from explorer.records.settings import DecodeSettings
from explorer.records.step import TOP_BASE


@dataclass(frozen=True)
class Snapshot:
    """A step without its logits; see StepResult.

    hidden       [path, H]: of the accepted rows
    figures      of all rows; the tokens asked for are the nodes', each at its parent's row
    bonus        its probability and rank
    residual     ids and probabilities [top] of the best tokens that a rejection left, best first
    seconds      what taking the snapshot took

    Without a verify pass, `verdict`, `hidden` and `figures` are None.
    """

    draft: Draft
    context_length: int
    emitted: list[int]
    laps: dict[str, float]
    verdict: Verdict | None = None
    hidden: torch.Tensor | None = None
    figures: RowFigures | None = None
    bonus: tuple[float, int] = (1.0, 0)
    residual: tuple[torch.Tensor, torch.Tensor] | None = None
    seconds: float = 0.0


def snapshot(result: StepResult, settings: DecodeSettings) -> Snapshot:
    """Take a step's snapshot. Nothing in it holds on to the memory of the pass."""
    begin, verdict, draft = time.perf_counter(), result.verdict, result.draft
    step = (_light(draft), result.context_length, result.emitted, result.laps)
    if verdict is None or result.logits is None or result.hidden is None:
        return Snapshot(*step)
    figures, bonus = _figures(
        result.logits,
        draft.tree.parents[1:],
        draft.tokens[1:],
        (verdict.path[-1], verdict.bonus),
        settings,
    )
    hidden = result.hidden[verdict.path]
    residual = None
    if verdict.residual is not None:
        residual, verdict = _best(verdict.residual), replace(verdict, residual=None)
    return Snapshot(*step, verdict, hidden, figures, bonus, residual, time.perf_counter() - begin)


def root_figures(
    prefilled: Prefilled, settings: DecodeSettings
) -> tuple[RowFigures, tuple[float, int]]:
    """What the prompt's last token gives, and probability and rank of the root."""
    nothing = torch.empty(0, dtype=torch.int64)
    return _figures(prefilled.logits[None], nothing, nothing, (0, prefilled.root), settings)


def _figures(
    logits: torch.Tensor,
    rows: torch.Tensor,
    tokens: torch.Tensor,
    chosen: tuple[int, int],
    settings: DecodeSettings,
) -> tuple[RowFigures, tuple[float, int]]:
    """`row_figures` with the rule's probabilities, and those of the row and token `chosen`.

    At temperature 0 they are the softmax's, and what is chosen is a row's first. Typical
    acceptance tests p after temperature alone; what it chooses may be a draw under top-k and top-p.
    """
    figures, (row, token) = row_figures(logits, TOP_BASE, rows, tokens), chosen
    if settings.temperature == 0:
        return figures, (float(figures.probs[row, 0]), 0)
    probs = distribution(logits, _tested(settings))
    best = probs.gather(1, figures.ids.to(probs.device)).cpu()
    asked = probs[rows.to(probs.device), tokens.to(probs.device)].cpu()
    rank = int(torch.count_nonzero(logits[row] > logits[row, token]))
    if settings.rule == "typical" and settings.root_rule == "draw":
        prob = float(distribution(logits[row][None], settings)[0, token])
    else:
        prob = float(probs[row, token])
    return replace(figures, probs=best, asked_probs=asked), (prob, rank)


def _tested(settings: DecodeSettings) -> DecodeSettings:
    """The settings whose distribution judges nodes."""
    if settings.rule != "typical":
        return settings
    return settings.model_copy(update={"top_p": 1.0, "top_k": 0})


def _best(probs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids and probabilities of the likeliest tokens of probs [V], best first; none of 0."""
    top = probs.topk(min(TOP_BASE, len(probs)))
    kept = top.values > 0
    return top.indices[kept].cpu(), top.values[kept].cpu()


def _light(draft: Draft) -> Draft:
    """A draft without what only the step itself needs: distributions over the vocabulary.

    Of those that candidates were drawn from, the best tokens are kept, as what was offered.
    """
    if draft.proposals is None and draft.extra is None:
        return draft
    record = draft.record
    if draft.proposals is not None:
        record = replace(record, below=_drawn_from(draft, draft.proposals))
    return replace(draft, proposals=None, extra=None, record=record)


def _drawn_from(draft: Draft, proposals: Proposals) -> dict[int, tuple[torch.Tensor, torch.Tensor]]:
    """Ids and probabilities [top] of the best of what each row's children were drawn from."""
    best: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}  # heads give all rows of a depth one q
    below = {}
    for row, q in enumerate(proposals):
        if q is not None and draft.tree.children[row]:
            if id(q) not in best:
                best[id(q)] = _best(q)
            below[row] = best[id(q)]
    return below
