"""The speedup ledger: from the best that heads could do down to what a run did, term by term.

The ideal step of K heads emits K + 1 tokens in the time of a one-row pass, so its speedup is K + 1.
What a measured run lacks to that is booked step by step, on the run itself: each step stopped
somewhere, for one reason, and each part of its time was measured. The terms are differences of
successive speedups, so they add up to the measured one:

    K + 1 = ideal → less what each step did not accept → τ, tokens per step
    τ / (verify/T₁) → with the heads' time → with bookkeeping = measured

T₁ is plain decoding's time per token in the same race.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel as Schema
from pydantic import ConfigDict, Field

from explorer.analysis.joint_counts import MISS, rank_rows
from explorer.analysis.speedup import Samples, lane_figures
from explorer.records.schema import Trace, TreeShape
from explorer.records.step import Step

Kind = Literal["head", "rank", "shallow", "end", "verify", "heads", "bookkeeping"]
TITLES = {
    "rank": "right, but not in the tree",
    "shallow": "the tree ended",
    "end": "the text ended",
    "verify": "verify pass over n rows",
    "heads": "the heads' time",
    "bookkeeping": "choosing, committing",
}


class Term(Schema):
    """One step down (or up) of the waterfall.

    `change` is its part of the speedup; `if_fixed` is what the run's speedup would be without this
    one cause, an estimate: a head that never misses carries a path as far as the recorded heads
    after it were right, and time that is fixed is time that is not spent.
    """

    model_config = ConfigDict(frozen=True)

    kind: Kind
    head: int | None = Field(None, description="1-based, for the kind head")
    title: str
    change: float
    after: float
    if_fixed: float


class Ledger(Schema):
    """The waterfall of one run, or of several together."""

    model_config = ConfigDict(frozen=True)

    num_heads: int
    steps: int
    tokens: int
    tokens_per_step: float
    ideal: float
    terms: list[Term]
    measured: float
    watched: float = Field(description="the speedup with the time of recording counted")


@dataclass
class _Sums:
    """What is added up over steps; times in milliseconds."""

    lost: Counter = field(default_factory=Counter)  # (kind, head): tokens not emitted
    gained: Counter = field(default_factory=Counter)  # (kind, head): tokens, were it fixed
    times: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    steps: int = 0
    tokens: int = 0
    plain_ms: float = 0.0
    plain_tokens: int = 0


def ledger(traces: Iterable[Trace]) -> Ledger | None:
    """The ledger of races together; None where there was no plain lane or no head."""
    sums, num_heads = _Sums(), 0
    for trace in traces:
        num_heads = max(num_heads, trace.header.num_heads)
        _add(sums, trace)
    if not sums.plain_tokens or not sums.steps or not num_heads:
        return None
    return _report(sums, num_heads)


def _add(sums: _Sums, trace: Trace) -> None:
    rows, before = rank_rows(trace).tolist(), len(trace.header.prompt_ids)
    if trace.rival is not None:
        plain = lane_figures(Samples.of_lane(trace.rival))
        sums.plain_ms += 1000 * plain.seconds
        sums.plain_tokens += plain.tokens
    for step in trace.steps:
        at = step.context_length - before  # of the position that the step starts from
        row = rows[at] if at < len(rows) else None
        _book(sums, step, trace.trees[step.tree], row, trace.header.num_heads)
        timings = step.timings
        sums.times["verify"] += timings.verify
        sums.times["heads"] += timings.heads
        sums.times["bookkeeping"] += timings.draft + timings.accept + timings.commit
        sums.times["record"] += timings.record
        sums.steps += 1
        sums.tokens += len(step.emitted)


def _book(
    sums: _Sums, step: Step, tree: TreeShape, row: Sequence[int] | None, num_heads: int
) -> None:
    """Book what the step did not emit under the reason why it stopped."""
    emitted = len(step.emitted)
    lost = num_heads + 1 - emitted
    if lost <= 0:
        return
    cause = _cause(step, tree, row)
    sums.lost[cause] += lost
    ahead = row[emitted:] if row else []  # the heads after the one that stopped it
    right = next((i for i, rank in enumerate(ahead) if rank == MISS), len(ahead))
    sums.gained[cause] += 0 if cause[0] == "end" else 1 + right


def _cause(step: Step, tree: TreeShape, row: Sequence[int] | None) -> tuple[str, int | None]:
    """Why a step emitted no more: its kind, and the head that missed (1-based)."""
    if not step.base_top or len(step.emitted) < len(step.accepted) or row is None:
        return "end", None
    depth = len(step.emitted)  # of the first node that was not accepted, and its head
    if row[depth - 1] == MISS:
        return "head", depth
    last = step.accepted[-1]
    return ("rank", None) if last in tree.parents else ("shallow", None)


def _report(sums: _Sums, num_heads: int) -> Ledger:
    one_row = sums.plain_ms / sums.plain_tokens
    times = {name: sums.times[name] / sums.steps / one_row for name in sums.times}
    tokens = sums.tokens / sums.steps
    whole = times["verify"] + times["heads"] + times["bookkeeping"]
    measured = tokens / whole
    terms, at = [], float(num_heads + 1)
    order: list[tuple[Kind, int | None]] = [("head", k) for k in range(1, num_heads + 1)]
    order.extend([("rank", None), ("shallow", None), ("end", None)])
    for cause in order:
        if sums.lost[cause]:
            after = at - sums.lost[cause] / sums.steps
            fixed = measured * (sums.tokens + sums.gained[cause]) / sums.tokens
            terms.append(_term(*cause, at, after, fixed))
            at = after
    spent = 0.0
    passes: tuple[Kind, ...] = ("verify", "heads", "bookkeeping")
    for kind in passes:
        spent += times[kind]
        free = whole - times[kind] + (1.0 if kind == "verify" else 0.0)
        after = measured if kind == "bookkeeping" else tokens / spent
        terms.append(_term(kind, None, at, after, tokens / free if free > 0 else measured))
        at = after
    return Ledger(
        num_heads=num_heads,
        steps=sums.steps,
        tokens=sums.tokens,
        tokens_per_step=tokens,
        ideal=float(num_heads + 1),
        terms=terms,
        measured=measured,
        watched=tokens / (whole + times["record"]),
    )


def _term(kind: Kind, head: int | None, before: float, after: float, fixed: float) -> Term:
    title = f"head {head} missed" if head else TITLES[kind]
    return Term(
        kind=kind, head=head, title=title, change=after - before, after=after, if_fixed=fixed
    )
