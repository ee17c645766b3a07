"""What heads got right in recorded runs, in the numbers that engines and papers give.

marginal      top-1/5/10: how often the true token is among a head's first guesses, anywhere
given before  top-1 where the first guesses of all heads before were right: the fair row against
              Hydra heads, which know their path
conditional   accepted / (accepted + first rejections) among steps that reached the depth
per position  accepted at the depth / all steps, what vLLM and SGLang report
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from pydantic import BaseModel as Schema
from pydantic import ConfigDict, Field

from explorer.analysis.joint_counts import RankedText, ordered_positions, ranked_text
from explorer.analysis.speedup import acceptance_by_depth
from explorer.records.schema import Trace
from explorer.records.text import piece_of

TOPS = (1, 5, 10)
BINS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
MAX_WRONG = 8
PARTS = 4  # of a text, by position


class Confidence(Schema):
    """Guesses whose probability lies between `least` and `most`, and how often they were right."""

    model_config = ConfigDict(frozen=True)

    least: float
    most: float
    guesses: int
    promised: float
    right: float


class WrongToken(Schema):
    """A token that a head's first guess missed, how often, and how often it was due."""

    model_config = ConfigDict(frozen=True)

    text: str
    missed: int
    due: int


class HeadAccuracy(Schema):
    """One head. Shares are None where nothing was there to count."""

    model_config = ConfigDict(frozen=True)

    head: int
    top: dict[int, float]
    given_before: float | None
    conditional: float | None
    per_position: float | None
    repeats: float = Field(description="share of first guesses that repeat the base model's own")
    confidence: list[Confidence]
    wrong: list[WrongToken]


class AccuracyReport(Schema):
    """All heads on all texts. `by_kind` and `by_part`: head 1's top-1, by kind of prompt, and by
    part of the text from its beginning to its end."""

    model_config = ConfigDict(frozen=True)

    positions: int
    steps: int
    tokens_per_step: float
    heads: list[HeadAccuracy]
    by_kind: dict[str, float]
    tokens_per_step_by_kind: dict[str, float]
    by_part: list[float]


def accuracy_report(traces: Sequence[Trace], kinds: Sequence[str]) -> AccuracyReport | None:
    """The report on recorded runs, each of a kind of prompt; None where no guess was recorded."""
    texts = [ranked_text(trace) for trace in traces]
    rows = np.concatenate([text.rows for text in texts]) if texts else np.empty((0, 0))
    if not rows.size:
        return None
    steps = sum(len(trace.steps) for trace in traces)
    accepted = _accepted(traces)
    heads = [_head(k, rows, traces, texts, accepted) for k in range(rows.shape[1])]
    by_kind = _by_kind(texts, kinds)
    return AccuracyReport(
        positions=len(rows),
        steps=steps,
        tokens_per_step=sum(len(trace.new_token_ids) for trace in traces) / steps,
        heads=heads,
        by_kind={kind: float(np.mean(part[:, 0] == 0)) for kind, part in by_kind.items()},
        tokens_per_step_by_kind=_tokens_by_kind(traces, kinds),
        by_part=_by_part(texts),
    )


def _accepted(traces: Sequence[Trace]) -> dict[int, tuple[int, int]]:
    """By depth: accepted, and first rejections, over all runs."""
    totals: dict[int, tuple[int, int]] = {}
    for trace in traces:
        for depth in acceptance_by_depth(trace.steps, trace.trees):
            accepted, rejected = totals.get(depth.depth, (0, 0))
            totals[depth.depth] = (accepted + depth.accepted, rejected + depth.first_rejections)
    return totals


def _head(
    k: int,
    rows: np.ndarray,
    traces: Sequence[Trace],
    texts: Sequence[RankedText],
    accepted: Mapping[int, tuple[int, int]],
) -> HeadAccuracy:
    column, before = rows[:, k], (rows[:, :k] == 0).all(axis=1)
    taken, rejected = accepted.get(k + 1, (0, 0))
    passes = sum(1 for trace in traces for step in trace.steps if step.base_top)
    return HeadAccuracy(
        head=k + 1,
        top={top: float(np.mean((column >= 0) & (column < top))) for top in TOPS},
        given_before=float(np.mean(column[before] == 0)) if before.any() else None,
        conditional=taken / (taken + rejected) if taken + rejected else None,
        per_position=taken / passes if passes else None,
        repeats=_repeats(k, traces),
        confidence=_confidence(k, texts),
        wrong=_wrong(k, traces, texts),
    )


def _repeats(k: int, traces: Sequence[Trace]) -> float:
    repeated = [
        position.heads[k].ids[0] == position.base_choice
        for trace in traces
        for position in ordered_positions(trace)
        if len(position.heads) > k and position.heads[k].ids
    ]
    return float(np.mean(repeated)) if repeated else 0.0


def _confidence(k: int, texts: Sequence[RankedText]) -> list[Confidence]:
    """Calibration of a head's first guess: what it promised, and what came true."""
    pairs = [
        (float(probs[k][0]), float(row[k] == 0))
        for text in texts
        for row, probs in zip(text.rows, text.probs or (), strict=False)
        if len(probs) > k and len(probs[k])
    ]
    if not pairs:
        return []
    promised, right = np.array(pairs).T
    which = np.digitize(promised, BINS[1:-1])
    return [
        Confidence(
            least=BINS[i],
            most=BINS[i + 1],
            guesses=int(np.sum(which == i)),
            promised=float(promised[which == i].mean()),
            right=float(right[which == i].mean()),
        )
        for i in range(len(BINS) - 1)
        if np.any(which == i)
    ]


def _wrong(k: int, traces: Sequence[Trace], texts: Sequence[RankedText]) -> list[WrongToken]:
    missed: Counter[str] = Counter()
    due: Counter[str] = Counter()
    for trace, text in zip(traces, texts, strict=True):
        tokens = [*trace.header.prompt_ids, *trace.new_token_ids]
        for i, rank in enumerate(text.rows[:, k].tolist()):
            target = text.before + i + 2 + k
            if target >= len(tokens):
                continue
            shown = piece_of(trace.pieces, tokens[target]).label
            due[shown] += 1
            missed[shown] += rank != 0
    return [
        WrongToken(text=shown, missed=count, due=due[shown])
        for shown, count in missed.most_common(MAX_WRONG)
        if count
    ]


def _by_kind(texts: Sequence[RankedText], kinds: Sequence[str]) -> dict[str, np.ndarray]:
    parts: dict[str, list[np.ndarray]] = {}
    for text, kind in zip(texts, kinds, strict=True):
        if len(text.rows):
            parts.setdefault(kind, []).append(text.rows)
    return {kind: np.concatenate(rows) for kind, rows in parts.items()}


def _tokens_by_kind(traces: Iterable[Trace], kinds: Sequence[str]) -> dict[str, float]:
    sums: dict[str, tuple[int, int]] = {}
    for trace, kind in zip(traces, kinds, strict=True):
        tokens, steps = sums.get(kind, (0, 0))
        sums[kind] = tokens + len(trace.new_token_ids), steps + len(trace.steps)
    return {kind: tokens / steps for kind, (tokens, steps) in sums.items() if steps}


def _by_part(texts: Sequence[RankedText]) -> list[float]:
    parts = [np.array_split(text.rows[:, 0] == 0, PARTS) for text in texts if len(text.rows)]
    joined = [np.concatenate([part[i] for part in parts]) for i in range(PARTS)]
    return [float(part.mean()) if len(part) else 0.0 for part in joined]
