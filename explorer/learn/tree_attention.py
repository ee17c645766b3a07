"""Chapter 6: how one pass verifies a whole tree, and what happens when a part of it is wrong."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

from explorer.learn.chapter import Chapter, Own, See, Shown
from explorer.learn.heads import own_base
from explorer.learn.recorded_runs import OWN, label, recorded_run
from explorer.records.errors import ExplorerError
from explorer.records.faults import FAULTS, SOUND, FaultReport
from explorer.records.paths import ASSETS
from explorer.records.schema import Trace, TreeShape
from explorer.records.step import Step

RUN = "story"
EXAMPLE = TreeShape(name="tutorials", paths=[[0], [1], [0, 0], [1, 0]])
EXAMPLE_TOKENS = ("It", "is", "was", "a", "a")  # two nodes hold one token: each has its own row
EXAMPLE_PREFIX = 7
SMALL = 9  # rows of a step that can still be filled by hand
SETTINGS = {"tree": "cartesian:2,2", "max_new_tokens": 32}
RECORDED = ASSETS / "learn" / "faults.json"


@cache
def recorded() -> dict[str, Any]:
    """What tools/record_faults.py wrote: when, and the reports."""
    return json.loads(RECORDED.read_text(encoding="utf-8"))


def reports() -> list[FaultReport]:
    """The recorded reports."""
    return [FaultReport.model_validate(report) for report in recorded()["reports"]]


def mask_of(shape: TreeShape) -> list[list[int]]:
    """Per row, the rows that it sees: its ancestors and itself."""
    seen: list[list[int]] = []
    for row, parent in enumerate(shape.parents):
        seen.append([*(seen[parent] if parent >= 0 else []), row])
    return seen


def small_step(trace: Trace) -> Step | None:
    """A step of a small tree in which a node was accepted, to build its mask by hand."""
    return max(
        (step for step in trace.steps if 4 < len(step.token_ids) <= SMALL),
        key=lambda step: (len(step.accepted) > 1, len(set(trace.trees[step.tree].depths))),
        default=None,
    )


def _puzzle(name: str, shape: TreeShape, tokens: Sequence[str], prefix: int) -> dict[str, object]:
    return {
        "name": name,
        "tokens": list(tokens),
        "parents": shape.parents,
        "prefix": prefix,
        "mask": mask_of(shape),
        "positions": [prefix + depth for depth in shape.depths],
    }


def _puzzles(trace: Trace, whose: str) -> list[dict[str, object]]:
    """The example of tutorials, and a step of a run, if it has one that is small enough."""
    puzzles = [_puzzle("5 × 5", EXAMPLE, EXAMPLE_TOKENS, EXAMPLE_PREFIX)]
    step = small_step(trace)
    if step is not None:
        words = [label(trace, token) for token in step.token_ids]
        shape, name = trace.trees[step.tree], f"step {step.index + 1} of {whose}"
        puzzles.append(_puzzle(name, shape, words, step.context_length))
    return puzzles


def telling_step(trace: Trace | None = None) -> Step:
    """The step that the text and the question speak of; of the recorded run."""
    return max((trace or recorded_run(RUN)).steps, key=lambda step: len(step.accepted))


def numbers() -> dict[str, object]:
    """The size of a pass, and what the recorded faults came to."""
    step, found = telling_step(), reports()
    sampled = found[0].chi.tokens
    by_name = {report.fault: report for report in found}
    return {
        "rows": len(step.token_ids),
        "hidden": own_base().hidden,
        "prefix": step.context_length,
        "recorded": recorded()["recorded"],
        "model": found[0].model,
        "backend": found[0].backend,
        "sampled": sampled,
        "most_sampled": max(report.chi.tokens for report in found),
        "quiet": [
            FAULTS[report.fault][0] for report in found[1:] if "audit" not in report.caught_by
        ],
        "chi": [FAULTS[report.fault][0] for report in found[1:] if "chi" in report.caught_by],
        "bits": [FAULTS[report.fault][0] for report in found[1:] if "bits" in report.caught_by],
        "missed": [FAULTS[report.fault][0] for report in found[1:] if not report.caught_by],
        "sound": by_name[SOUND].tokens_per_step,
        "own_row": by_name["own-row"].tokens_per_step,
    }


def data() -> dict[str, object]:
    """Masks to build, and the recorded reports."""
    return {
        "puzzles": _puzzles(recorded_run("code"), "a run"),
        "faults": [
            {"key": key, "name": name, "what": what} for key, (name, what) in FAULTS.items()
        ],
        "recorded": recorded()["recorded"],
        "reports": [report.model_dump() for report in reports()],
        "question": _question(recorded_run(RUN), "the recorded story"),
    }


def _question(trace: Trace, whose: str) -> dict[str, object]:
    step = telling_step(trace)
    row = len(step.token_ids) - 1
    depth = trace.trees[step.tree].depths[row]
    right = step.context_length + depth
    options = sorted({step.context_length, right, step.context_length + row})
    return {
        "ask": f"In step {step.index + 1} of {whose} {step.context_length} tokens stand "
        f"in the cache. Which position has the last of {row + 1} rows, a node of depth {depth}?",
        "options": [str(each) for each in options],
        "right": options.index(right),
        "why": f"Prefix plus depth: {step.context_length} + {depth}. Its row number, {row}, says "
        "only where its keys and values lie.",
    }


def own(trace: Trace) -> Shown:
    """A mask of another run to build. Raises ExplorerError where no tree has branches."""
    branched = any(
        len({tuple(path[:-1]) for path in shape.paths}) < len(shape.paths) for shape in trace.trees
    )
    step = small_step(trace)
    if not branched or step is None:
        raise ExplorerError(
            f"Your last run has no step of {SMALL} rows or fewer whose tree has branches: run a "
            "prompt of your own here."
        )
    shown = {"puzzles": _puzzles(trace, OWN), "question": _question(trace, OWN)}
    return Shown(shown, step.index + 1)


def see() -> See:
    """A step with a tree whose mask shows branches."""
    return See(RUN, telling_step().index + 1, "Its mask shows branches that do not see each other.")


CHAPTER = Chapter("tree_attention", "Tree attention", numbers, data, see, Own(SETTINGS, own))
