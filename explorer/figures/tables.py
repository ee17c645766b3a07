"""A trace as pandas tables: a row per node, or per step."""

from __future__ import annotations

from collections.abc import Iterator
from math import nan

import pandas as pd

from explorer.figures.view import StepView, step_view
from explorer.records.piece import MAX_LABEL
from explorer.records.schema import Trace
from explorer.records.step import Timings
from explorer.records.text import join_pieces

NODE_COLUMNS = (
    *("step", "row", "parent", "depth", "rank", "path", "position", "token_id", "token"),
    *("draft_prob", "joint_prob", "base_prob", "base_rank", "threshold", "verdict"),
)
STEP_COLUMNS = (
    *("step", "context_length", "tree", "rows", "tokens", "text", "bonus", "bonus_prob"),
    *(f"{name}_ms" for name in (*Timings.model_fields, "step")),
)


def node_table(trace: Trace) -> pd.DataFrame:
    """A row per row of every verify pass, the root (row 0) included; NODE_COLUMNS.

    `step` counts from 0, `rank` and `base_rank` too (0 is the first choice). `path` is the rank
    path, () for the root. `token` shows whitespace and bytes as the page does. `threshold` is
    empty but for typical acceptance.
    """
    rows = (row for i in range(len(trace.steps)) for row in _nodes(i, step_view(trace, i)))
    return pd.DataFrame.from_records(list(rows), columns=NODE_COLUMNS)


def step_table(trace: Trace) -> pd.DataFrame:
    """A row per step; STEP_COLUMNS.

    `rows` is n, `tokens` what the step added (the root included), `text` their text. Times are in
    milliseconds; `step_ms` is the lane's time for the step: all but `record_ms`.
    """
    rows = [
        (
            *(index, step.context_length, trace.trees[step.tree].name, len(step.token_ids)),
            *(len(step.emitted), join_pieces(trace.pieces, step.emitted)),
            *(step.bonus, step.bonus_prob),
            *(getattr(step.timings, name) for name in (*Timings.model_fields, "step")),
        )
        for index, step in enumerate(trace.steps)
    ]
    table = pd.DataFrame.from_records(rows, columns=STEP_COLUMNS)
    return table.astype({"bonus": "Int64"})  # token ids stay whole where the last step has none


def _nodes(index: int, view: StepView) -> Iterator[tuple]:
    step = view.step
    for row in range(view.rows):
        depth = view.depths[row]
        yield (
            *(index, row, view.parents[row], depth, view.rank(row)),
            *(view.path(row), step.context_length + depth),
            *(step.token_ids[row], view.label(row, MAX_LABEL)),
            *(step.draft_probs[row], step.joint_probs[row]),
            *(step.base_probs[row], step.base_ranks[row]),
            *(step.thresholds[row] if step.thresholds else nan, step.verdicts[row]),
        )
