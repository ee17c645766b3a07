"""Traces of format 1, read as traces of today.

Format 1 kept the plain lane of a race as a list of tokens with their times. It becomes a lane of
one-row steps; what a step holds besides that was never written down and stays empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field, TypeAdapter

from explorer.records.methods import PLAIN
from explorer.records.record import Entries, Milliseconds, Record, TokenId
from explorer.records.schema import FORMAT_VERSION, Header, Lane, Trace, TreeShape
from explorer.records.step import MAX_STEPS, Probability, Step, Timings


class _PlainLane(Record):
    """What format 1 held of the plain lane."""

    class Token(Record):
        """One token: a one-row step."""

        token_id: TokenId
        prob: Probability
        milliseconds: Milliseconds

    plain: Entries[Token] = Field(default_factory=list, max_length=MAX_STEPS)
    plain_prefill_ms: Milliseconds | None = None


_PLAIN_LANE = TypeAdapter(_PlainLane)


def trace_of_format_1(value: dict[str, Any]) -> Trace:
    """The trace in the JSON value of a file of format 1. Raises ValidationError."""
    names = _PlainLane.model_fields
    old = _PLAIN_LANE.validate_python({k: v for k, v in value.items() if k in names})
    kept = {name: entry for name, entry in value.items() if name not in names}
    trace = Trace.model_validate(kept | {"format_version": FORMAT_VERSION})
    if not old.plain:
        return trace
    return trace.model_copy(update={"rival": _lane(trace.header, old)})


def _lane(header: Header, old: _PlainLane) -> Lane:
    plain = {
        "settings": header.settings.model_copy(update={"method": PLAIN}),
        "heads": None,
        "num_heads": 0,
        "shown": None,
        "prompt_position": None,
        "prefill_ms": old.plain_prefill_ms or 0.0,
    }
    prompt = len(header.prompt_ids)
    steps = [_step(index, prompt, old.plain) for index in range(len(old.plain))]
    trees = [TreeShape(name="root", paths=[])]
    return Lane(header=header.model_copy(update=plain), trees=trees, steps=steps)


def _step(index: int, prompt: int, tokens: Sequence[_PlainLane.Token]) -> Step:
    token = tokens[index]
    following = tokens[index + 1] if index + 1 < len(tokens) else None
    return Step(
        index=index,
        context_length=prompt + index,
        tree=0,
        token_ids=[token.token_id],
        draft_probs=[1.0],
        joint_probs=[1.0],
        base_probs=[token.prob],
        base_ranks=[0],
        choices=[],
        verdicts=["root"],
        base_top=[],
        accepted=[0],
        emitted=[token.token_id],
        bonus=following and following.token_id,
        bonus_prob=following and following.prob,
        positions=[],
        timings=Timings(verify=token.milliseconds),
    )
