"""Acceptance on the device: what follows from a verdict starts before the host knows it.

A GPU works through a queue. If the host reads the verdict first, the queue is empty until it has
thought of what comes next. So where a rule asks for one token at each row, the accepted path, the
commit and the heads' next guesses are queued after the pass, and the host waits once, for one
small copy of all that it needs for the rest of this step and for the next draft.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from explorer.decoding.acceptance import AcceptanceRule, Verdict
from explorer.decoding.drafter import Draft, Drafter
from explorer.kernels.graphs import to_host
from explorer.kernels.path import follow_rows
from explorer.models.static_cache import StaticCache


def judge_ahead(
    rule: AcceptanceRule,
    drafter: Drafter,
    draft: Draft,
    hidden: torch.Tensor,
    logits: torch.Tensor,
    cache: StaticCache,
    lap: Callable[[str], None],
) -> Verdict | None:
    """The rule's verdict on the cache's latest pass; None where it needs more than choices.

    hidden [n, H] and logits [n, V] of the draft's n rows, the first of the pass.
    """
    choices = rule.choices(draft, logits, cache.length)
    if choices is None:
        return None
    n, read = draft.tree.n, cache.read
    assert read is not None
    last, rows = follow_rows(read.tokens[:n], choices, read.offsets[:n], read.sees[:n, :n])
    lap("accept")
    cache.move(rows[: draft.tree.depth + 1])
    lap("commit")
    started = drafter.look_ahead(hidden.index_select(0, last))
    lap("heads")
    end, wanted, *guesses = to_host([last, choices, *started])
    drafter.arrived(guesses)
    return rule.verdict(draft.tree.path_to(int(end)), wanted.tolist())
