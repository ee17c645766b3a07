"""The foresight map: how many tokens ahead of the base model some head had each token of a reply.

From the hidden state of position t the LM head predicts token t+1 and head k token t+1+k (Medusa,
arXiv 2401.10774, section 2.1.1). So head k names a token k tokens before the base model's own turn.
assets/step_explorer/foresight.js counts the same in the browser; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from explorer.analysis.joint_counts import ordered_positions
from explorer.records.schema import Trace
from explorer.records.step import MAX_HEADS, TopTokens


@dataclass(frozen=True)
class Known:
    """A head that had a token: as its guess number `rank` (from 0), reading the hidden state of
    the absolute `position`."""

    head: int
    rank: int
    probability: float
    position: int


def foresight(trace: Trace) -> list[list[Known]]:
    """Per new token, the heads that had it among their recorded guesses, the nearest first."""
    states = {position.index: position.heads for position in ordered_positions(trace)}
    first = len(trace.header.prompt_ids)
    return [_known(states, first + i, token) for i, token in enumerate(trace.new_token_ids)]


def _known(states: dict[int, list[TopTokens]], at: int, token: int) -> list[Known]:
    """The heads that had the token at the absolute position `at`."""
    found = []
    for head in range(1, MAX_HEADS + 1):
        position = at - 1 - head
        guesses = states.get(position, [])[head - 1 : head]
        if guesses and token in guesses[0].ids:
            rank = guesses[0].ids.index(token)
            found.append(Known(head, rank, guesses[0].probs[rank], position))
    return found


def tokens_ahead(known: Sequence[Known], top: int, heads: int = MAX_HEADS) -> int:
    """How many tokens ahead one of the first `heads` heads had a token among its `top` best.

    0: none of them had it.
    """
    return max((one.head for one in known if one.rank < top and one.head <= heads), default=0)


def foreseen(tokens: Sequence[Sequence[Known]], top: int) -> list[float]:
    """Share of the tokens that were had at least 1, 2, 3 … tokens ahead; as long as it is not 0."""
    ahead = [tokens_ahead(known, top) for known in tokens]
    return [
        sum(one >= least for one in ahead) / len(ahead)
        for least in range(1, max(ahead, default=0) + 1)
    ]
