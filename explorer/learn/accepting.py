"""Chapter 7: three rules on one recorded step, and which of them keep the distribution."""

from __future__ import annotations

from typing import Any

from explorer.learn.chapter import Chapter, See
from explorer.learn.recorded_runs import gallery_name, label, recorded_run
from explorer.records.settings import DecodeSettings
from explorer.records.step import Step

RUN = "typical"


def numbers() -> dict[str, Any]:
    """The defaults of the rule, and the recorded run's own settings."""
    usual, own = DecodeSettings(), recorded_run(RUN).header.settings
    return {
        "epsilon": usual.epsilon,
        "delta": usual.delta,
        "temperature": own.temperature,
        "root_rule": usual.root_rule,
    }


def data() -> dict[str, Any]:
    """Steps with all that the rules look at."""
    steps = telling_steps()
    return {
        "epsilon": recorded_run(RUN).header.settings.epsilon,
        "steps": [recorded_step(step) for step in steps],
        "question": _question(steps[-1]),
    }


def telling_steps() -> list[Step]:
    """Steps at which the rules differ: the rule took more than greedy would, took nothing, took
    what greedy would; and at last the longest path of the others."""
    judged = [step for step in recorded_run(RUN).steps if step.thresholds]
    kinds = (
        lambda step: len(step.accepted) - len(_greedy_path(step)),
        lambda step: -len(step.accepted),
        lambda step: len(_greedy_path(step)) * (step.accepted == _greedy_path(step)),
        lambda step: len(step.accepted),
    )
    found: list[Step] = []
    for worth in kinds:
        found.append(max((step for step in judged if step not in found), key=worth))
    return found


def _greedy_path(step: Step) -> list[int]:
    """The rows that greedy acceptance would take: always the base model's first choice."""
    parents, path = recorded_run(RUN).trees[step.tree].parents, [0]
    while True:
        rows = range(1, len(step.token_ids))
        below = (row for row in rows if parents[row] == path[-1] and step.base_ranks[row] == 0)
        row = next(below, None)
        if row is None:
            return path
        path.append(row)


def recorded_step(step: Step) -> dict[str, Any]:
    """Rows with the base model's p, and how sure it was below each.

    `sure` is exp(−H). A recorded bar min(ε, δ · exp(−H)) below ε gives it; null where the bar was
    ε: then exp(−H) is ε/δ or more, and the bar stays ε for every smaller ε with δ = √ε.
    """
    trace = recorded_run(RUN)
    shape, settings = trace.trees[step.tree], trace.header.settings
    parents, depths = shape.parents, shape.depths
    bars = {parents[row]: bar for row, bar in enumerate(step.thresholds or []) if row}
    rows = [
        {
            "name": label(trace, token),
            "parent": parents[row],
            "depth": depths[row],
            "p": step.base_probs[row],
            "first": step.base_ranks[row] == 0,
            "sure": bar / settings.delta
            if (bar := bars.get(row, 1.0)) < settings.epsilon
            else None,
        }
        for row, token in enumerate(step.token_ids)
    ]
    top = step.base_top[0]
    return {
        "step": step.index,
        "rows": rows,
        "wanted": [
            {"name": label(trace, token), "p": p, "row": _child_of_root(step, parents, token)}
            for token, p in zip(top.ids, top.probs, strict=True)
        ],
        "path": step.accepted,
    }


def _child_of_root(step: Step, parents: list[int], token: int) -> int | None:
    rows = enumerate(zip(step.token_ids, parents, strict=True))
    return next((row for row, (id_, parent) in rows if parent == 0 and id_ == token), None)


def _question(step: Step) -> dict[str, Any]:
    accepted = len(step.accepted) - 1
    names = [label(recorded_run(RUN), step.token_ids[row]) for row in step.accepted[1:]]
    return {
        "ask": f"Step {step.index + 1} of the recorded run used typical acceptance. How many "
        "guesses did it accept?",
        "options": [str(n) for n in range(4)],
        "right": accepted,
        "why": f"The longest path above its bars: {' '.join(f'“{name}”' for name in names)}.",
    }


def see() -> See:
    """The step that the widget begins with."""
    return See(
        gallery_name(RUN),
        telling_steps()[0].index + 1,
        "Each node names its p and the bar that it had to clear.",
    )


CHAPTER = Chapter("accepting", "Accepting", numbers, data, see)
