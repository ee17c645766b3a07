"""One engine against the other on the same heads: this explorer's tree, a server's chain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from explorer.analysis.speedup import Samples, lane_figures
from explorer.records.schema import Trace
from explorer.records.serving import Answer, EngineRow, LoadFigures, Speculation, together
from explorer.records.step import Step


def speculation_of(steps: Iterable[Step]) -> Speculation:
    """What the steps of a run accepted, counted as a server counts it.

    A step that needed no pass, because its root ended the run, is none there.
    """
    accepted = [len(step.accepted) - 1 for step in steps if step.base_top]
    deepest = max(accepted, default=0)
    return Speculation(
        steps=len(accepted),
        drafted=sum(len(step.token_ids) - 1 for step in steps if step.base_top),
        accepted_at=[sum(n > depth for n in accepted) for depth in range(deepest)],
    )


def explorer_row(traces: Sequence[Trace], engine: str, shape: str) -> EngineRow:
    """Of races of a method and plain decoding in this process."""
    steps = [step for trace in traces for step in trace.steps]
    plain = [step for trace in traces if trace.rival for step in trace.rival.steps]
    return EngineRow(
        engine=engine,
        shape=shape,
        speculation=speculation_of(steps),
        tokens_per_second=lane_figures(Samples.of_steps(steps)).tokens_per_second,
        plain_tokens_per_second=lane_figures(Samples.of_steps(plain)).tokens_per_second,
    )


def server_row(
    answers: Sequence[Answer], figures: LoadFigures, plain: LoadFigures | None, engine: str
) -> EngineRow | None:
    """Of some answers of a load; None where the server does not report what it accepted.

    Where the answers do not say it, what they accepted is that of the whole load.
    """
    found = [answer.speculation for answer in answers if answer.speculation]
    reported = together(found) if len(found) == len(answers) else None
    speculation = reported or figures.speculation
    if speculation is None or not speculation.steps:
        return None
    drafts = round(speculation.drafted / speculation.steps)
    return EngineRow(
        engine=engine,
        shape=f"a chain of {drafts}",
        speculation=speculation,
        tokens_per_second=_alone(figures),
        plain_tokens_per_second=_alone(plain),
    )


def _alone(figures: LoadFigures | None) -> float | None:
    """Tokens per second after the first token, as our own lanes count, of one request at a time."""
    if figures is None or figures.concurrency > 1 or not figures.mean_per_token:
        return None
    return 1 / figures.mean_per_token
