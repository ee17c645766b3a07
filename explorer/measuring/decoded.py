"""Texts decoded for measurements: the heads' right predictions, and the times of steps."""

from __future__ import annotations

import statistics
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from explorer.analysis.joint_counts import RankedText, ranked_text
from explorer.records.errors import ExplorerError
from explorer.records.events import finished
from explorer.records.progress import Progress
from explorer.records.prompts import Prompt
from explorer.records.settings import DecodeSettings
from explorer.records.step import Step

if TYPE_CHECKING:
    from explorer.measuring.lab_protocol import LabProtocol


@dataclass(frozen=True)
class Decoded:
    """Greedy replies with heads: the right predictions, and the times of a step's parts.

    Times are medians over steps, in milliseconds: of the heads, and of draft, accept and commit
    together.
    """

    texts: list[RankedText]
    heads_ms: float
    rest_ms: float


def decode_texts(
    lab: LabProtocol,
    prompts: Sequence[Prompt],
    settings: DecodeSettings,
    report: Progress,
    cancel: threading.Event | None = None,
) -> Decoded:
    """Decode every prompt, or some if cancelled. Raises ExplorerError: too short."""
    if not prompts:
        raise ExplorerError("Calibrating needs at least one prompt.")
    texts, steps = [], []
    for number, record in enumerate(prompts):
        report(f"prompt {number + 1} of {len(prompts)}", 0.7 * number / len(prompts))
        trace = finished(lab.decode(record["prompt"], settings, cancel=cancel), cancel)
        if trace is None:
            break
        texts.append(ranked_text(trace))
        steps.extend(step for step in trace.steps if step.base_top)
    if not steps or not any(len(text.rows) for text in texts):
        raise ExplorerError(
            "The replies are too short to calibrate on: give more prompts, or more new tokens."
        )
    return Decoded(
        texts=texts,
        heads_ms=statistics.median(step.timings.heads for step in steps),
        rest_ms=statistics.median(map(_rest, steps)),
    )


def _rest(step: Step) -> float:
    return step.timings.draft + step.timings.accept + step.timings.commit
