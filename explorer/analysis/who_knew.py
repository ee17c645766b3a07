"""Who knew it first: which methods would have drafted each token of one text, and how far ahead.

Greedy text is the same for all lossless methods where rows are bit-exact, so their drafts can be
compared on one text, position by position. A method's `ahead[i]` says how many of its drafts are
right in a step whose root is token i: it knew the tokens i + 1 … i + ahead[i].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from pydantic import BaseModel as Schema
from pydantic import ConfigDict, Field

from explorer.analysis.path_index import walk

Ahead = Sequence[int | None]


class KnownToken(Schema):
    """One token of the text, and by method how many tokens ahead it was drafted; 0: never."""

    model_config = ConfigDict(frozen=True)

    text: str
    ahead: dict[str, int]


class MethodKnowledge(Schema):
    """One method. `tokens_per_step` walks through the text; None where a position is unknown."""

    model_config = ConfigDict(frozen=True)

    known: float = Field(description="share of tokens that it would have drafted")
    alone: float = Field(description="share that it alone would have drafted")
    farthest: int
    tokens_per_step: float | None


class WhoKnew(Schema):
    """All methods on one text.

    `overlap`: of each pair, the share of tokens that both would have drafted. The router is an
    oracle: each step takes the method with most right drafts there, which only the text shows. A
    hybrid, which verifies all drafts together, accepts as much, at the cost of all their rows.
    """

    model_config = ConfigDict(frozen=True)

    tokens: list[KnownToken]
    methods: dict[str, MethodKnowledge]
    overlap: dict[str, float]
    nobody: float
    router_tokens_per_step: float
    sentence: str
    notes: list[str]


def compare_knowledge(
    pieces: Sequence[str], ahead: Mapping[str, Ahead], notes: Sequence[str] = ()
) -> WhoKnew:
    """From each method's `ahead`, one entry for each token of the text; the first is a root."""
    leads = {method: _leads(each) for method, each in ahead.items()}
    known = {method: np.array(each[1:]) > 0 for method, each in leads.items()}
    count = sum(each.astype(int) for each in known.values())
    best = np.array([max((a[i] or 0) for a in ahead.values()) for i in range(len(pieces))])
    nobody = _share(np.equal(count, 0))
    router = _tokens_per_step(best.tolist()) or 1.0
    return WhoKnew(
        tokens=[
            KnownToken(text=piece, ahead={method: each[i] for method, each in leads.items()})
            for i, piece in enumerate(pieces)
        ],
        methods={
            method: MethodKnowledge(
                known=_share(each),
                alone=_share(each & (count == 1)),
                farthest=max(leads[method]),
                tokens_per_step=_tokens_per_step(ahead[method]),
            )
            for method, each in known.items()
        },
        overlap={f"{a} & {b}": _share(known[a] & known[b]) for a, b in combinations(known, 2)},
        nobody=nobody,
        router_tokens_per_step=router,
        sentence=f"Nobody drafted {nobody:.0%}. A router that knew beforehand which method has "
        f"most right drafts would make {router:.2f} tokens per step.",
        notes=list(notes),
    )


def _leads(ahead: Ahead) -> list[int]:
    """By token: the most tokens ahead that it was drafted."""
    leads = [0] * len(ahead)
    for i, right in enumerate(ahead):
        for lead in range(1, (right or 0) + 1):
            if i + lead < len(leads):
                leads[i + lead] = max(leads[i + lead], lead)
    return leads


def _share(which: np.ndarray) -> float:
    return float(np.mean(which)) if which.size else 0.0


def _tokens_per_step(ahead: Ahead) -> float | None:
    if any(right is None for right in ahead):
        return None
    steps = walk(np.array(ahead))
    return len(ahead) / len(steps) if steps else None
