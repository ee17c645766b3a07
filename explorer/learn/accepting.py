"""Chapter 7: three rules on one recorded step, and which of them keep the distribution."""

from __future__ import annotations

import math
from typing import Any

from explorer.learn.chapter import Chapter, Own, See, Shown
from explorer.learn.recorded_runs import OWN, RECORDED, gallery_name, label, recorded_run
from explorer.records.errors import ExplorerError
from explorer.records.schema import Trace
from explorer.records.settings import DecodeSettings
from explorer.records.step import Step

RUN = "typical"
SETTINGS = {
    "acceptance": "typical",
    "temperature": 0.7,
    "tree": "cartesian:3,2,1",
    "max_new_tokens": 48,
}


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
    return _data_of(recorded_run(RUN), RECORDED)


def _data_of(trace: Trace, whose: str) -> dict[str, Any]:
    steps = telling_steps(trace)
    return {
        "whose": whose,
        "epsilon": trace.header.settings.epsilon,
        "steps": [judged_step(trace, step) for step in steps],
        "question": _question(trace, steps[-1], whose),
    }


def telling_steps(trace: Trace) -> list[Step]:
    """Steps at which the rules differ: the rule took more than greedy would, took nothing, took
    what greedy would; and at last the longest path of the others. Fewer of a short run."""

    def greedy(step: Step) -> list[int]:
        return greedy_path(trace, step)

    kinds = (
        lambda step: len(step.accepted) - len(greedy(step)),
        lambda step: -len(step.accepted),
        lambda step: len(greedy(step)) * (step.accepted == greedy(step)),
        lambda step: len(step.accepted),
    )
    left = [step for step in trace.steps if step.thresholds and len(step.token_ids) > 1]
    found: list[Step] = []
    for worth in kinds[: len(left)]:
        found.append(max(left, key=worth))
        left.remove(found[-1])
    return found


def greedy_path(trace: Trace, step: Step) -> list[int]:
    """The rows that greedy acceptance would take: always the base model's first choice."""
    parents, path = trace.trees[step.tree].parents, [0]
    while True:
        rows = range(1, len(step.token_ids))
        below = (row for row in rows if parents[row] == path[-1] and step.base_ranks[row] == 0)
        row = next(below, None)
        if row is None:
            return path
        path.append(row)


def judged_step(trace: Trace, step: Step) -> dict[str, Any]:
    """Rows with the base model's p, and how sure it was below each.

    `sure` is exp(−H). A recorded bar min(ε, δ · exp(−H)) below ε gives it; null where the bar was
    ε: then exp(−H) is ε/δ or more, and the bar stays ε for every smaller ε with δ = √ε.
    """
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


def _question(trace: Trace, step: Step, whose: str) -> dict[str, Any]:
    accepted = len(step.accepted) - 1
    names = [label(trace, step.token_ids[row]) for row in step.accepted[1:]]
    path = " ".join(f"“{name}”" for name in names)
    return {
        "ask": f"Step {step.index + 1} of {whose} used typical acceptance. How many "
        "guesses did it accept?",
        "options": [str(n) for n in range(max(trace.trees[step.tree].depths) + 1)],
        "right": accepted,
        "why": f"The longest path above its bars: {path}."
        if names
        else "No guess for the token after the root was above its bar.",
    }


def own(trace: Trace) -> Shown:
    """The same of another run of typical acceptance. Raises ExplorerError for other runs."""
    settings = trace.header.settings
    steps = telling_steps(trace)
    if not steps:
        raise ExplorerError(
            "Your last run has no step of typical acceptance, so no bars were recorded: run a "
            "prompt of your own here."
        )
    if not math.isclose(settings.delta, math.sqrt(settings.epsilon), rel_tol=1e-3):
        raise ExplorerError(
            "Your last run had a δ of its own, and the picture moves ε with δ = √ε: run a prompt "
            "of your own here."
        )
    return Shown(_data_of(trace, OWN), steps[0].index + 1)


def see() -> See:
    """The step that the widget begins with."""
    return See(
        gallery_name(RUN),
        telling_steps(recorded_run(RUN))[0].index + 1,
        "Each node names its p and the bar that it had to clear.",
    )


CHAPTER = Chapter("accepting", "Accepting", numbers, data, see, Own(SETTINGS, own))
