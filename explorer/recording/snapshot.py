"""What a step leaves behind for its record: taken at once, made into a record later.

A step's logits are megabytes, and the next pass may not wait for their record. So a snapshot keeps
what the record needs of them, which takes one compiled call; everything else can be worked out
between steps, or when the run is over.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import torch

from explorer.decoding.loop import Draft, Prefilled, StepResult
from explorer.decoding.sampling import distribution
from explorer.kernels.row_figures import RowFigures, row_figures
from explorer.records.schema import TOP_BASE
from explorer.records.settings import DecodeSettings


@dataclass(frozen=True)
class Snapshot:
    """A step without its logits.

    `result` has neither logits nor all hidden states; `hidden` [path, H] are those of the accepted
    rows. Of `figures`, the tokens asked for are every node's at its parent's row, and last the
    bonus at the end of the path. Without a verify pass, both are None. `seconds`: what it took.
    """

    result: StepResult
    seconds: float
    hidden: torch.Tensor | None = None
    figures: RowFigures | None = None


def snapshot(result: StepResult, settings: DecodeSettings) -> Snapshot:
    """Take a step's snapshot. Nothing in it holds on to the memory of the pass."""
    begin, verdict, draft = time.perf_counter(), result.verdict, result.draft
    if verdict is None:
        return Snapshot(result, 0.0)
    rows = torch.cat([draft.tree.parents[1:], torch.tensor(verdict.path[-1:])])
    tokens = torch.cat([draft.tokens[1:], torch.tensor([verdict.bonus])])
    figures = figures_of(result.logits, rows, tokens, settings)
    hidden = result.hidden[verdict.path]
    kept = replace(result, draft=_light(draft), hidden=None, logits=None)
    return Snapshot(kept, time.perf_counter() - begin, hidden, figures)


def root_figures(prefilled: Prefilled, settings: DecodeSettings) -> RowFigures:
    """What the prompt's last token gives: the root is the one token asked for."""
    row, root = torch.zeros(1, dtype=torch.int64), torch.tensor([prefilled.root])
    return figures_of(prefilled.logits[None], row, root, settings)


def figures_of(
    logits: torch.Tensor, rows: torch.Tensor, tokens: torch.Tensor, settings: DecodeSettings
) -> RowFigures:
    """`row_figures`, with the probabilities of the rule; at temperature 0 the softmax."""
    figures = row_figures(logits, TOP_BASE, rows, tokens)
    if settings.temperature == 0:
        return figures
    probs = distribution(logits, settings)
    best = probs.gather(1, figures.ids.to(probs.device))
    asked = probs[rows.to(probs.device), tokens.to(probs.device)]
    return replace(figures, probs=best.cpu(), asked_probs=asked.cpu())


def _light(draft: Draft) -> Draft:
    """A draft without what only the step itself needs: distributions over the vocabulary."""
    if draft.proposals is None and draft.extra is None:
        return draft
    return replace(draft, proposals=None, extra=None)
