"""The gain of speculation by batch size: the cost of a pass by batch size and tree.

Speculation uses computing power that is idle while the weights arrive. A batch of b sequences uses
that power itself: its verify pass has b·n rows, and when the machine computes as many rows a second
as it can, a further row costs as much as a token. So T(b·n) is measured, as a real pass
over b sequences with a prefix each (measuring/batch_pass.py), and from it the speed of a Medusa
engine at every batch size is predicted:

    S(b, n) = τ(n) · T(b·1) / (T(b·n) + T_heads(b) + b·T_rest)

with τ from a replay of text decoded here. Plain's tokens/s are measured. The method's figures at a
batch size are estimates: they assume that every sequence accepts as often as alone, and is drafted,
judged and committed one after the other.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from pydantic import BaseModel as Schema
from pydantic import ConfigDict, Field

from explorer.analysis.cost_curve import CostCurve
from explorer.analysis.formulas import tree_speedup
from explorer.analysis.joint_counts import (
    GrowingReplay,
    count_paths,
    replayed_tokens_per_step,
    visited_rows,
)
from explorer.analysis.path_index import PathIndex
from explorer.analysis.tree_choice import Costs
from explorer.analysis.tree_search import greedy_order
from explorer.decoding.tree import Tree
from explorer.measuring.batch_pass import BatchPasses
from explorer.measuring.calibration import require_heads, time_heads
from explorer.measuring.cost_curve import InterleavedTimes
from explorer.measuring.decoded import Decoded, decode_texts
from explorer.records.errors import ExplorerError
from explorer.records.progress import Progress, quiet
from explorer.records.prompts import Prompt
from explorer.records.settings import decode_settings
from explorer.records.step import TOP_HEADS

if TYPE_CHECKING:
    from explorer.measuring.lab_protocol import LabProtocol

SIZES = (1, 2, 4, 8)  # sequences
ROWS = (1, 2, 4, 8, 16)  # of each sequence, besides those of the best fixed tree
CONTEXT = 128  # tokens of each sequence
ROUNDS = 5


class BatchSize(Schema):
    """One batch size. Times and rates of passes are measured, Medusa's figures estimated.

    `cost_curve`: T(b·n) by n, the rows of each sequence; its ratios are over T(b·1).
    `rows_per_second`: of all sequences together, for every n of the curve. `speedup_by_rows`: S of
    the best tree of n rows. `best_rows` 1 means that plain decoding is fastest.
    """

    model_config = ConfigDict(frozen=True)

    batch: int
    cost_curve: CostCurve
    rows_per_second: list[float]
    heads_ms: float
    rest_ms: float
    plain_tokens_per_second: float = Field(description="measured, all sequences together")
    tokens_per_second: float = Field(description="the method's: estimate, with the best fixed tree")
    speedup: float = Field(description="estimate, with the best fixed tree")
    speedup_by_rows: dict[int, float] = Field(description="estimate")
    best_rows: int
    best_speedup: float = Field(description="estimate; 1 where plain decoding is fastest")


class BatchReport(Schema):
    """The gain by batch size, and the batch size at which it ends.

    `rows` and `tokens_per_step` are the best fixed tree's; `tokens_per_step_by_rows` that of the
    best tree of n rows. `gone_from`: the first measured batch size at which it no longer
    gains, `best_gone_from` at which no tree does; None if there is a gain at all of them.
    `most_rows_per_second` is the highest rate of rows that was reached.
    """

    model_config = ConfigDict(frozen=True)

    model: str
    heads: str
    backend: str
    device: str
    method: str
    context_length: int
    positions: int = Field(description="positions of text behind τ")
    tree: list[list[int]]
    rows: int
    tokens_per_step: float
    tokens_per_step_by_rows: dict[int, float]
    sizes: list[BatchSize]
    most_rows_per_second: float
    gone_from: int | None
    best_gone_from: int | None
    sentence: str

    @property
    def curves(self) -> dict[int, CostCurve]:
        """The cost curve of every batch size."""
        return {size.batch: size.cost_curve for size in self.sizes}


@dataclass(frozen=True)
class _Gains:
    """τ of the best fixed tree and of the best tree of every number of rows, with their depths."""

    auto: tuple[Tree, float]
    by_rows: dict[int, tuple[int, float]]  # n: (depth, τ)


def measure_batches(
    lab: LabProtocol,
    prompts: Sequence[Prompt],
    method: str = "medusa",
    max_new_tokens: int = 128,
    sizes: Sequence[int] = SIZES,
    context_length: int = CONTEXT,
    rounds: int = ROUNDS,
    progress: Progress | None = None,
    cancel: threading.Event | None = None,
    decoded: Decoded | None = None,
) -> BatchReport:
    """Time passes over `sizes` sequences and predict what speculation gains at each.

    `prompts` are records with "prompt"; they are decoded for τ, unless `decoded` has that already.
    If cancelled, it reports on the finished rounds. Raises ExplorerError without heads, for
    replies that are too short, and if cancelled before the first round.
    """
    heads = require_heads(lab, method)
    report_progress = progress or quiet
    if decoded is None:
        settings = decode_settings(method=method, max_new_tokens=max_new_tokens)
        decoded = decode_texts(lab, prompts, settings, report_progress, cancel)
    tree = lab.heads[method].fixed_tree(context_length)
    widths = sorted({*ROWS, tree.n})
    room = lab.model.context_length - widths[-1]
    context_length = max(1, min(context_length, room))
    curves = _curves(lab, sizes, widths, context_length, rounds, report_progress, cancel)
    gains = _gains([text.rows for text in decoded.texts], tree, widths[-1])
    found = []
    for batch, curve in curves.items():
        costs = Costs(
            [curve],
            heads_ms=time_heads(lab.model, heads, sequences=batch),
            rest_ms=batch * decoded.rest_ms,
            by_depth=heads.config.num_heads if heads.sees_path else 0,
        )
        found.append(_size(batch, costs, gains))
    return _report(lab, method, decoded, gains, found)


@torch.inference_mode()
def _curves(
    lab: LabProtocol,
    sizes: Sequence[int],
    widths: Sequence[int],
    context_length: int,
    rounds: int,
    report_progress: Progress,
    cancel: threading.Event | None,
) -> dict[int, CostCurve]:
    """The cost curve of every batch size. All sizes take turns, so that a drift affects all."""
    passes = {b: BatchPasses(lab.model, b, context_length, widths[-1]) for b in sizes}
    times = {b: InterleavedTimes(widths) for b in sizes}
    for batch in sizes:  # warm up
        for n in widths:
            passes[batch].milliseconds(n)
    for number in range(rounds):
        if cancel is not None and cancel.is_set():
            break
        report_progress(f"batches, round {number + 1} of {rounds}", 0.7 + 0.3 * number / rounds)
        for batch in sizes:
            times[batch].take_round(passes[batch].milliseconds)
    if not all(samples.rounds for samples in times.values()):
        raise ExplorerError("Measuring batches was stopped before anything was measured.")
    return {batch: samples.curve(context_length) for batch, samples in times.items()}


def _gains(texts: Sequence[np.ndarray], tree: Tree, widest: int) -> _Gains:
    """The τ of trees on these texts, each [positions, heads] of ranks."""
    counts = count_paths(visited_rows(texts, tree.paths), TOP_HEADS)
    depth = max(len(counts.accuracy), 1)
    order = [scored.path for scored in greedy_order(counts.success, widest - 1, depth, TOP_HEADS)]
    replay = GrowingReplay(PathIndex(texts), order)
    by_rows = {
        nodes + 1: (max(map(len, order[:nodes])), replay.tokens_per_step(nodes))
        for nodes in range(1, len(order) + 1)
    }
    return _Gains((tree, replayed_tokens_per_step(texts, tree.paths)), by_rows)


def _size(batch: int, costs: Costs, gains: _Gains) -> BatchSize:
    (curve,), (tree, tokens) = costs.curves, gains.auto
    plain = 1000 * batch / curve.one_row_ms
    speedup = tree_speedup(tokens, curve.at(tree.n), costs.overhead(tree.depth))
    by_rows = {
        n: tree_speedup(each, curve.at(n), costs.overhead(depth))
        for n, (depth, each) in gains.by_rows.items()
    }
    best = max(by_rows, key=lambda n: by_rows[n], default=1)
    pays = by_rows.get(best, 0.0) > 1
    return BatchSize(
        batch=batch,
        cost_curve=curve,
        rows_per_second=[
            1000 * batch * n / ms for n, ms in zip(curve.rows, curve.milliseconds, strict=True)
        ],
        heads_ms=costs.heads_ms,
        rest_ms=costs.rest_ms,
        plain_tokens_per_second=plain,
        tokens_per_second=plain * speedup,
        speedup=speedup,
        speedup_by_rows=by_rows,
        best_rows=best if pays else 1,
        best_speedup=by_rows[best] if pays else 1.0,
    )


def _report(
    lab: LabProtocol, method: str, decoded: Decoded, gains: _Gains, sizes: list[BatchSize]
) -> BatchReport:
    model, (tree, tokens) = lab.model, gains.auto
    gone = next((size.batch for size in sizes if size.speedup <= 1), None)
    return BatchReport(
        model=model.name,
        heads=lab.heads[method].name,
        backend=model.backend,
        device=str(model.device),
        method=method,
        context_length=sizes[0].cost_curve.context_length,
        positions=sum(len(text.rows) for text in decoded.texts),
        tree=[list(path) for path in tree.paths],
        rows=tree.n,
        tokens_per_step=tokens,
        tokens_per_step_by_rows={n: each for n, (_, each) in gains.by_rows.items()},
        sizes=sizes,
        most_rows_per_second=max(rate for size in sizes for rate in size.rows_per_second),
        gone_from=gone,
        best_gone_from=next((size.batch for size in sizes if size.best_rows == 1), None),
        sentence=_sentence(method, tree, sizes, gone),
    )


def _sentence(method: str, tree: Tree, sizes: Sequence[BatchSize], gone: int | None) -> str:
    """The gain by batch size, in words."""
    first, last = sizes[0], sizes[-1]
    if gone == first.batch:
        fades = f"there is no gain, not even at batch size {first.batch}"
    elif gone is None:
        fades = f"there is still a gain at batch size {last.batch}"
    else:
        fades = f"there is no gain from batch size {gone} on"
    best = ", ".join(f"{size.best_rows} at {size.batch}" for size in sizes)
    return (
        f"Estimate: with {tree.n} rows a sequence, {method} runs at {first.speedup:.2f}× plain at "
        f"batch size {first.batch} and at {last.speedup:.2f}× at {last.batch}: {fades}. Best rows "
        f"by batch size: {best}."
    )
