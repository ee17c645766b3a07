"""Chapter 5: from guesses to a tree."""

from __future__ import annotations

from collections.abc import Sequence

from explorer.analysis.joint_counts import rank_rows, replayed_tokens_per_step
from explorer.learn.chapter import Chapter, Own, See, Shown
from explorer.learn.recorded_runs import OWN, recorded_run
from explorer.records.errors import ExplorerError
from explorer.records.numbers import ordinal
from explorer.records.rank_paths import cartesian_counts, cartesian_paths
from explorer.records.schema import Trace
from explorer.records.step import Step

RUN = "story"
WIDTHS = (4, 3, 1)  # of the recorded run's tree
EXAMPLE = (2, 2, 1)
DROPPED = (1, 1)  # the child of the 2-2-1 tree that pictures of it leave out
SETTINGS = {"tree": "cartesian:4,3,1", "max_new_tokens": 48}
LARGE = (8, 8, 8, 8)


def chain_depth(step: Step, shape: Sequence[Sequence[int]]) -> int:
    """How many of a step's accepted nodes are first guesses all the way: what a chain accepts."""
    first = [shape[row - 1] for row in step.accepted[1:] if not any(shape[row - 1])]
    return len(first)


def branching(trace: Trace) -> list[Step]:
    """The steps whose trees have more than a chain."""
    return [step for step in trace.steps if any(any(p) for p in trace.trees[step.tree].paths)]


def telling_step(trace: Trace | None = None) -> Step:
    """The step in which the tree gains most over the chain; of the recorded run."""
    trace = trace or recorded_run(RUN)

    def gain(step: Step) -> int:
        return len(step.accepted) - 1 - chain_depth(step, trace.trees[step.tree].paths)

    return max(branching(trace), key=gain)


def replayed(widths: Sequence[int], trace: Trace | None = None) -> float:
    """Tokens per step of a text with a tree of these widths; of the recorded one."""
    return replayed_tokens_per_step(
        [rank_rows(trace or recorded_run(RUN))], cartesian_paths(widths)
    )


def _off_the_chain(trace: Trace, step: Step) -> str:
    """The first accepted guess that was not a head's first, in words."""
    paths = trace.trees[step.tree].paths
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
        "guess": _off_the_chain(trace, step),
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
        "trees": {"2-2-1": EXAMPLE, "4-3-1": WIDTHS, "8-8-8-8": LARGE},
        "misprinted": {"widths": EXAMPLE, "dropped": DROPPED},
        **_data_of(recorded_run(RUN), "the recorded story"),
    }


def _data_of(trace: Trace, whose: str) -> dict[str, object]:
    """Steps to look at, and what narrower trees would write in the whole text."""
    step = telling_step(trace)
    widths = _widths(trace)
    return {
        "whose": whose,
        "steps": [one.index for one in branching(trace)],
        "step": step.index,
        "most": max(widths),
        "rates": {
            str(width): replayed([min(width, most) for most in widths], trace)
            for width in range(1, max(widths) + 1)
        },
        "question": _question(trace, step, whose),
    }


def _widths(trace: Trace) -> list[int]:
    """The most guesses of each head that stand below one node in some tree of a run."""
    paths = [path for shape in trace.trees for path in shape.paths]
    deepest = max(map(len, paths))
    return [1 + max(path[depth] for path in paths if len(path) > depth) for depth in range(deepest)]


def _question(trace: Trace, step: Step, whose: str) -> dict[str, object]:
    shape = trace.trees[step.tree]
    chain, whole = 1 + chain_depth(step, shape.paths), len(step.emitted)
    options = list(range(1, max(shape.depths) + 2))
    return {
        "ask": f"Step {step.index + 1} of {whose}, root included: how many tokens does "
        "a chain of the first guesses write?",
        "options": [str(each) for each in options],
        "right": options.index(chain),
        "why": f"The chain writes {chain}, the tree {whole}: the base model's token "
        f"was the {_off_the_chain(trace, step)}."
        if whole > chain
        else f"The chain writes {chain}, as many as the tree.",
    }


def own(trace: Trace) -> Shown:
    """The same of another run. Raises ExplorerError where no heads filled a tree, greedily."""
    by_heads = trace.header.settings.method in ("medusa", "hydra")
    if not by_heads or trace.header.settings.temperature or not branching(trace):
        raise ExplorerError(
            "Your last run has no greedy step in which heads filled a tree with branches: run a "
            "prompt of your own here."
        )
    shown = _data_of(trace, OWN)
    return Shown(shown, telling_step(trace).index + 1)


def see() -> See:
    """The step whose accepted path leaves the first guesses."""
    step = telling_step()
    return See(
        RUN,
        step.index + 1,
        f"The accepted path takes the {_off_the_chain(recorded_run(RUN), step)}.",
    )


CHAPTER = Chapter("tree", "From heads to a tree", numbers, data, see, Own(SETTINGS, own))
