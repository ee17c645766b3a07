"""Measures a calibration: thoroughly on prompts, or within seconds at the first start."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from explorer.analysis.auto_replay import replay_auto
from explorer.analysis.calibration import Basis, Calibration, Key
from explorer.analysis.cost_curve import CostCurve
from explorer.analysis.joint_counts import (
    GrowingReplay,
    JointCounts,
    RankedText,
    counts_at,
    rows_near,
    searches,
)
from explorer.analysis.path_index import PathIndex
from explorer.analysis.rank_table import load_rank_table
from explorer.analysis.tree_choice import Costs, choose, with_context_trees
from explorer.analysis.tree_search import greedy_order, product_success
from explorer.heads.hydra import HydraHeads
from explorer.measuring.calibration_file import key_of, load_calibration, save_calibration
from explorer.measuring.cost_curve import WIDTHS, measure_cost_curve
from explorer.measuring.decoded import Decoded, decode_texts
from explorer.records.errors import ExplorerError
from explorer.records.progress import Progress, quiet
from explorer.records.prompts import Prompt
from explorer.records.settings import decode_settings
from explorer.records.step import TOP_HEADS

if TYPE_CHECKING:
    from explorer.heads.heads import MedusaHeads
    from explorer.measuring.lab_protocol import LabProtocol
    from explorer.models.base import LanguageModel

CONTEXTS = (128, 512)  # tokens
QUICK_CURVES = {128: (2, 3, 4, 6, 8, 12, 16, 32, 64), 640: (2, 4, 8, 16)}  # context: widths
QUICK_ROUNDS = 5
MIN_TRUST = 0.3  # a lower value comes from too few texts, not from the heads
QUICK_REST_MS = 0.5  # draft, accept and commit, until a run has measured them
SEARCH_REPEATS = 3
MIN_POSITIONS = 1000  # near a context length; with fewer, all texts are used
MEASURED_NODES = 127  # of a tree; the widest measured pass is one row more
GUESSED_FIRST = (0.5, 0.34, 0.26, 0.2, 0.16)  # assumed top-1 of heads 1, 2, … without measurements
GUESSED_DECAY = 0.35  # from one rank to the next


def calibrate(
    lab: LabProtocol,
    prompts: Sequence[Prompt],
    method: str = "medusa",
    max_new_tokens: int = 128,
    contexts: Sequence[int] = CONTEXTS,
    rounds: int = 5,
    progress: Progress | None = None,
    save: bool = True,
    decoded: Decoded | None = None,
) -> Calibration:
    """Measure everything: accuracies and step times on `prompts`, C(n) at two context lengths.

    `prompts` are records with "prompt", texts that the heads were not trained on; `decoded` is
    what `decode_texts` made of them, where that was done before. Saved for this machine unless
    `save` is False. Raises ExplorerError without heads or usable prompts.
    """
    model, heads = lab.model, require_heads(lab, method)
    report = progress or quiet
    if decoded is None:
        settings = decode_settings(method=method, max_new_tokens=max_new_tokens)
        decoded = decode_texts(lab, prompts, settings, report)
    curves = []
    for number, context in enumerate(_fitting(contexts, model)):
        report(f"cost curve, {context} tokens of context", 0.7 + 0.3 * number / len(contexts))
        curves.append(measure_cost_curve(model, WIDTHS, context, rounds))
    costs = Costs(
        curves=curves,
        heads_ms=time_heads(model, heads)
        if heads.sees_path  # in the steps it depends on the depth of the tree
        else decoded.heads_ms,
        rest_ms=decoded.rest_ms,
        by_depth=heads.config.num_heads if heads.sees_path else 0,
    )
    calibration = by_texts(key_of(model, heads), costs, decoded.texts, "prompts")
    if not heads.sees_path:
        calibration = _with_auto(calibration, costs, decoded.texts)
    if save:
        save_calibration(calibration)
    return calibration


class CurveMeter:
    """Measures the cost curves of a machine quickly, once for all heads."""

    def __init__(self, model: LanguageModel, progress: Progress | None = None) -> None:
        self.model, self.progress = model, progress

    @cached_property
    def curves(self) -> list[CostCurve]:
        """C(n) at every context of QUICK_CURVES that the model can read."""
        if self.progress:
            self.progress("Measuring the cost of a verify pass on this machine", None)
        widths = {_fitting([context], self.model)[0]: w for context, w in QUICK_CURVES.items()}
        return [
            measure_cost_curve(self.model, rows, context, QUICK_ROUNDS)
            for context, rows in widths.items()
        ]


def auto_calibration(
    model: LanguageModel, heads: MedusaHeads, heads_folder: str | Path | None, meter: CurveMeter
) -> Calibration:
    """The calibration of this machine: a saved one, or one made within seconds and saved.

    The quick one measures C(n) and the heads' time here and takes the accuracies from the rank
    table in `heads_folder`; heads without a table get guessed accuracies, and the calibration says
    so in `basis`. It may fail to save it without an error.
    """
    key = key_of(model, heads)
    saved = load_calibration(key, [Path(heads_folder)] if heads_folder else [])
    if saved is not None:
        return saved
    costs = Costs(
        curves=meter.curves,
        heads_ms=time_heads(model, heads),
        rest_ms=QUICK_REST_MS,
        by_depth=heads.config.num_heads if heads.sees_path else 0,
    )
    table, count = load_rank_table(heads_folder) if heads_folder else None, heads.config.num_heads
    if table is not None and (table.heads, table.num_heads) != (key.heads, count):
        table = None  # of other heads
    if table is not None and any(table.texts):
        calibration = by_texts(key, costs, table.ranked(), "rank table")
    else:
        calibration = _by_guess(key, costs, count)
    with contextlib.suppress(ExplorerError):  # then it is measured again next time
        save_calibration(calibration)
    return calibration


def by_texts(key: Key, costs: Costs, texts: Sequence[RankedText], basis: Basis) -> Calibration:
    """The best tree by the accuracy on the texts, and at each context on texts that long."""
    contexts = [curve.context_length for curve in costs.curves]

    def search(costs: Costs, context: int | None) -> Calibration:
        rows = [text.rows for text in texts]
        if context is not None:
            near = rows_near(texts, context, contexts)
            rows = near if sum(map(len, near)) >= MIN_POSITIONS else rows
        return _by_rows(key, costs, rows, basis)

    return with_context_trees(costs, search)


def _with_auto(calibration: Calibration, costs: Costs, texts: Sequence[RankedText]) -> Calibration:
    """The same, with the measured trust in the heads and the expectation for `auto`."""
    found = replay_auto(calibration, costs, texts)
    if found and found.promised > 0:
        trust = min(1.0, max(MIN_TRUST, (found.tokens_per_step - 1) / found.promised))
        calibration = calibration.model_copy(update={"trust": trust})
        found = replay_auto(calibration, costs, texts)
    figures = {f"auto_{name}": float(value) for name, value in vars(found).items()} if found else {}
    return calibration.model_copy(update=figures)


def _by_rows(key: Key, costs: Costs, texts: list[np.ndarray], basis: Basis) -> Calibration:
    """The best tree by the rank rows of texts, each [positions, heads], of several searches."""
    index = PathIndex(texts)
    joint = counts_at(index, TOP_HEADS)

    def search(counts: JointCounts) -> Calibration:
        order = greedy_order(counts.success, MEASURED_NODES, len(joint.accuracy), TOP_HEADS)
        return choose(
            key,
            order,
            costs,
            joint.accuracy,
            basis=basis,
            positions=joint.positions,
            tokens_per_step=GrowingReplay(index, [s.path for s in order]).tokens_per_step,
        )

    found = searches(
        index, TOP_HEADS, search, lambda found: found.candidate_tree.paths, SEARCH_REPEATS
    )
    best = max(found, key=lambda calibration: calibration.expected_speedup)
    joint_tokens = joint.tokens_per_step(best.candidate_tree.paths)
    return best.model_copy(update={"joint_tokens_per_step": joint_tokens})


def _by_guess(key: Key, costs: Costs, heads: int) -> Calibration:
    accuracy = guessed_accuracy(heads)
    order = greedy_order(product_success(accuracy), MEASURED_NODES, heads, len(accuracy[0]))
    return with_context_trees(
        costs, lambda costs, context: choose(key, order, costs, accuracy, basis="guess")
    )


def guessed_accuracy(num_heads: int) -> list[list[float]]:
    """Assumed accuracies [heads][rank] for heads without measurements."""
    first = [*GUESSED_FIRST, *[GUESSED_FIRST[-1]] * num_heads][:num_heads]
    return [[top * GUESSED_DECAY**rank for rank in range(10)] for top in first]


def time_heads(
    model: LanguageModel, heads: MedusaHeads, repeats: int = 15, sequences: int = 1
) -> float:
    """Median milliseconds of drafting a chain as deep as there are heads for each sequence."""
    like = heads.block_weight
    hidden = torch.zeros(sequences, heads.config.hidden_size, dtype=like.dtype, device=like.device)
    times = []
    for _ in range(repeats + 2):
        model.synchronise()
        start = time.perf_counter()
        if isinstance(heads, HydraHeads):
            for depth in range(1, heads.config.num_heads + 1):
                heads.propose_next(
                    hidden, torch.zeros(sequences, depth, dtype=torch.long), TOP_HEADS
                )
        else:
            heads.propose(hidden, TOP_HEADS)
        model.synchronise()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times[2:])  # the first ones allocate


def require_heads(lab: LabProtocol, method: str) -> MedusaHeads:
    """The heads of a method. Raises ExplorerError if none are loaded."""
    if method not in lab.heads:
        raise ExplorerError(f"Calibrating needs {method.title()} heads: load some with --heads.")
    return lab.heads[method].heads


def _fitting(contexts: Sequence[int], model: LanguageModel) -> list[int]:
    """The context lengths that leave room for the widest pass; at least one."""
    most = max(0, model.context_length - WIDTHS[-1])
    return sorted({min(context, most) for context in contexts})
