"""What a server counts of its drafts, read from its Prometheus page.

vLLM's counters are `vllm:spec_decode_num_drafts`, `…_num_draft_tokens`, `…_num_accepted_tokens`
and `…_num_accepted_tokens_per_pos` with a label `position`; each name ends in `_total`, and each
engine of a server counts for itself. They only grow: two readings differ by what happened between.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import ValidationError

from explorer.records.serving import MAX_DRAFTS, Speculation

PREFIX = "vllm:spec_decode_num_"
MOST = 2.0**53  # beyond it, a float counts no more one by one
DRAFTS, TOKENS, AT = "drafts", "draft_tokens", "accepted_tokens_per_pos"
_LINE = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?$")
_LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"\s*,?\s*')
_ESCAPES = {r"\\": "\\", r"\"": '"', r"\n": "\n"}


@dataclass(frozen=True)
class Counters:
    """One reading: steps, drafted tokens, and steps that accepted the draft at each position."""

    steps: int
    drafted: int
    accepted_at: tuple[int, ...]

    def since(self, before: Counters) -> Speculation | None:
        """What happened after an earlier reading; None where the server restarted in between."""
        longest = max(len(self.accepted_at), len(before.accepted_at))
        at = [_entry(self, i) - _entry(before, i) for i in range(longest)]
        try:
            return Speculation(
                steps=self.steps - before.steps,
                drafted=self.drafted - before.drafted,
                accepted_at=at,
            )
        except ValidationError:
            return None


def _entry(counters: Counters, position: int) -> int:
    there = position < len(counters.accepted_at)
    return counters.accepted_at[position] if there else 0


def read_counters(page: str, model: str | None = None) -> Counters | None:
    """The counters on a Prometheus page, of one model or of all; None where it has none."""
    sums: dict[str, float] = defaultdict(float)
    at: dict[int, float] = defaultdict(float)
    for name, labels, value in samples(page):
        if not name.startswith(PREFIX) or model not in (None, labels.get("model_name", model)):
            continue
        kind = name.removeprefix(PREFIX).removesuffix("_total")
        position = labels.get("position", "")
        if kind != AT:
            sums[kind] += value
        elif position.isdecimal() and int(position) < MAX_DRAFTS:
            at[int(position)] += value
    if DRAFTS not in sums:
        return None
    accepted = tuple(int(at[i]) for i in range(max(at, default=-1) + 1))
    return Counters(int(sums[DRAFTS]), int(sums[TOKENS]), accepted)


def samples(page: str) -> Iterator[tuple[str, dict[str, str], float]]:
    """Name, labels and value of every sample of a page; what counts nothing is passed over."""
    for line in page.splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        try:
            value = float(match[3])
        except ValueError:
            continue
        if 0 <= value < MOST:
            yield match[1], _labels(match[2] or ""), value


def _labels(text: str) -> dict[str, str]:
    return {name: _unescaped(value) for name, value in _LABEL.findall(text)}


def _unescaped(value: str) -> str:
    return re.sub(r"\\[\\\"n]", lambda match: _ESCAPES[match[0]], value)
