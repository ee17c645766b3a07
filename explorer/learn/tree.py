"""Chapter 5: from guesses to a tree."""

from __future__ import annotations

from collections.abc import Sequence

from explorer.analysis.joint_counts import rank_rows, replayed_tokens_per_step
from explorer.figures.numbers import ordinal
from explorer.learn.chapter import Chapter, See
from explorer.learn.recorded_runs import recorded_run
from explorer.records.rank_paths import cartesian_counts, cartesian_paths
from explorer.records.step import Step

RUN = "story"
WIDTHS = (4, 3, 1)  # of the recorded run's tree
EXAMPLE = (2, 2, 1)
LARGE = (8, 8, 8, 8)


def chain_depth(step: Step, shape: Sequence[Sequence[int]]) -> int:
    """How many of a step's accepted nodes are first guesses all the way: what a chain accepts."""
    first = [shape[row - 1] for row in step.accepted[1:] if not any(shape[row - 1])]
    return len(first)


def telling_step() -> Step:
    """The step in which the tree gains most over the chain."""
    trace = recorded_run(RUN)

    def gain(step: Step) -> int:
        return len(step.accepted) - 1 - chain_depth(step, trace.trees[step.tree].paths)

    return max((step for step in trace.steps if step.tree == 0), key=gain)


def replayed(widths: Sequence[int]) -> float:
    """Tokens per step of the recorded text with a tree of these widths."""
    return replayed_tokens_per_step([rank_rows(recorded_run(RUN))], cartesian_paths(widths))


def _off_the_chain(step: Step) -> str:
    """The first accepted guess that was not a head's first, in words."""
    paths = recorded_run(RUN).trees[step.tree].paths
    path = next(paths[row - 1] for row in step.accepted[1:] if any(paths[row - 1]))
    return f"{ordinal(path[-1] + 1)} guess of head {len(path)}"


def numbers() -> dict[str, object]:
    """Counts of trees, and what a chain and a tree write in the recorded run."""
    trace, step = recorded_run(RUN), telling_step()
    chain = 1 + chain_depth(step, trace.trees[step.tree].paths)
    paths_8, nodes_8 = cartesian_counts(LARGE)
    paths_221, nodes_221 = cartesian_counts(EXAMPLE)
    return {
        "step": step.index + 1,
        "chain": chain,
        "tree": len(step.emitted),
        "guess": _off_the_chain(step),
        "nodes": cartesian_counts(WIDTHS)[1],
        "chain_rate": replayed((1,) * len(WIDTHS)),
        "tree_rate": replayed(WIDTHS),
        "paths_8": paths_8,
        "nodes_8": nodes_8,
        "heads_8": len(LARGE),
        "paths_221": paths_221,
        "nodes_221": nodes_221,
    }


def data() -> dict[str, object]:
    """The run, and trees to count."""
    return {
        "run": RUN,
        "step": telling_step().index,
        "widths": WIDTHS,
        "rates": {
            str(width): replayed([min(width, most) for most in WIDTHS])
            for width in range(1, max(WIDTHS) + 1)
        },
        "trees": {"2-2-1": EXAMPLE, "4-3-1": WIDTHS, "8-8-8-8": LARGE},
        "question": _question(),
    }


def _question() -> dict[str, object]:
    step, trace = telling_step(), recorded_run(RUN)
    chain = 1 + chain_depth(step, trace.trees[step.tree].paths)
    options = list(range(1, len(WIDTHS) + 2))
    return {
        "ask": f"Step {step.index + 1} of the recorded story, root included: how many tokens does "
        "a chain of the first guesses write?",
        "options": [str(each) for each in options],
        "right": options.index(chain),
        "why": f"The chain writes {chain}, the tree {len(step.emitted)}: the base model's token "
        f"was the {_off_the_chain(step)}.",
    }


def see() -> See:
    """The step whose accepted path leaves the first guesses."""
    step = telling_step()
    return See(RUN, step.index + 1, f"The accepted path takes the {_off_the_chain(step)}.")


CHAPTER = Chapter("tree", "From heads to a tree", numbers, data, see)
