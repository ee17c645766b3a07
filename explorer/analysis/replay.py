"""Replays other trees on recorded text: tokens per step, without decoding again.

A trace holds what every head predicted at every position, and the text says what was right. So the
steps of any tree can be counted: a step accepts the longest path of right guesses that its tree
has, and the next begins after it. That is exact for greedy runs, and for sampled ones whose text
does not depend on the tree; a few positions at the end, whose continuation is unknown, are not
used. A trace of typical acceptance cannot be replayed: another tree would have
written another text.

Besides the usual trees there is `best:N`, the best fixed tree of N nodes for such text. It is
chosen for each trace on the other traces, never on the one that it is counted on, so it is a fair
comparison for `dynamic:N`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import BaseModel as Schema
from pydantic import ConfigDict, Field

from explorer.analysis.joint_counts import (
    JointCounts,
    RankedText,
    ranked_text,
    replayed_steps,
    replayed_tokens_per_step,
    searches,
    steps_through,
)
from explorer.analysis.path_index import PathIndex
from explorer.analysis.tree_names import MEASURED_TREES, parse_tree
from explorer.analysis.tree_search import greedy_order
from explorer.decoding.dynamic import DynamicTree, by_likelihood
from explorer.decoding.tree import require_fit
from explorer.records.errors import ExplorerError
from explorer.records.rank_paths import MAX_NODES, RankPath
from explorer.records.schema import Trace
from explorer.records.step import TOP_HEADS

BEST = "best:"
SEARCH_REPEATS = 2


class TreeReplay(Schema):
    """One tree over all traces. `nodes` is its number of nodes, the root not counted."""

    model_config = ConfigDict(frozen=True)

    tree: str
    nodes: int
    tokens: int
    steps: int
    tokens_per_step: float
    by_trace: dict[str, float]


class ReplayReport(Schema):
    """What was replayed, and every tree on it.

    `recorded` is the result of the runs themselves, to their end; it is not a replay.
    """

    model_config = ConfigDict(frozen=True)

    traces: int
    positions: int = Field(description="at which the right token of every head is known")
    recorded: dict[str, float]
    trees: list[TreeReplay]


@dataclass(frozen=True)
class Recorded:
    """The heads' predictions in a named trace."""

    name: str
    ranked: RankedText

    @property
    def rows(self) -> np.ndarray:
        """[positions, heads]."""
        return self.ranked.rows


def replay(traces: Mapping[str, Trace], trees: Sequence[str]) -> ReplayReport:
    """Count the steps that each of `trees` takes on the traces, given by name.

    Raises ExplorerError for traces that cannot be replayed and for trees that do not fit them.
    """
    if not traces or not trees:
        raise ExplorerError("A replay needs at least one trace and one tree.")
    texts = [_recorded(name, trace) for name, trace in traces.items()]
    heads = {text.rows.shape[1] for text in texts}
    if len(heads) > 1:
        raise ExplorerError(
            "These traces were recorded with different numbers of heads: replay those of one set "
            "of heads together."
        )
    sees_path = _sees_path(traces.values())
    index = PathIndex(text.rows for text in texts)
    return ReplayReport(
        traces=len(texts),
        positions=sum(len(text.rows) for text in texts),
        recorded={
            name: len(trace.new_token_ids) / len(trace.steps) for name, trace in traces.items()
        },
        trees=[_replayed(tree, texts, index, heads.copy().pop(), sees_path) for tree in trees],
    )


def replayed_run(trace: Trace, tree: str) -> list[int]:
    """The tokens of every step that decoding this run with another tree would take.

    It ends a few positions before the run does, where the record no longer says what was right.
    Raises ExplorerError as `replay` does.
    """
    text, sees_path = _recorded("This run", trace), _sees_path([trace])
    return steps_by_text(tree, [text], PathIndex([text.rows]), text.rows.shape[1], sees_path)[1][0]


def _sees_path(traces: Iterable[Trace]) -> bool:
    """Whether the heads also read the tokens on their path, as Hydra's do."""
    steps = (step for trace in traces for step in trace.steps)
    return any(step.draft_top and step.trials is None for step in steps)  # trials: drawn


def _recorded(name: str, trace: Trace) -> Recorded:
    if trace.header.settings.acceptance == "typical":
        raise ExplorerError(
            f"{name} was written with typical acceptance, whose text depends on the tree: replay "
            "traces of the rules greedy or sample."
        )
    text = ranked_text(trace)
    if not len(text.rows) or not trace.header.num_heads:
        raise ExplorerError(
            f"{name} holds no predictions of heads that could be replayed: record a longer run of "
            "a model that has heads."
        )
    return Recorded(name, text)


def _replayed(
    tree: str, texts: list[Recorded], index: PathIndex, heads: int, sees_path: bool
) -> TreeReplay:
    nodes, found = steps_by_text(tree, texts, index, heads, sees_path)
    steps = [tokens for each in found for tokens in each]
    return TreeReplay(
        tree=tree,
        nodes=nodes,
        tokens=sum(steps),
        steps=len(steps),
        tokens_per_step=sum(steps) / len(steps),
        by_trace={
            text.name: sum(each) / len(each) for text, each in zip(texts, found, strict=True)
        },
    )


def steps_by_text(
    name: str, texts: list[Recorded], index: PathIndex, heads: int, sees_path: bool
) -> tuple[int, list[list[int]]]:
    """Number of nodes, and for each text, the tokens of every step that the tree takes."""
    if name.startswith(BEST):
        nodes = _number_of_nodes(name)
        if len(texts) < 2:
            raise ExplorerError(f"{name} is chosen on other traces: give at least two.")
        others = ([other.rows for other in texts if other is not text] for text in texts)
        chosen = [set(_best(rows, nodes)) for rows in others]
        pairs = zip(texts, chosen, strict=True)
        return nodes, [replayed_steps(text.rows, paths) for text, paths in pairs]
    if name in MEASURED_TREES:
        raise ExplorerError(
            f"A trace does not hold the cost of rows, so '{name}' cannot be replayed: write best:8 "
            "for the best fixed tree, or dynamic:8."
        )
    tree = parse_tree(name)
    if not isinstance(tree, DynamicTree):
        require_fit(tree, heads, TOP_HEADS)
        return len(tree.paths), index.steps(tree.paths)
    if sees_path:
        raise ExplorerError(
            "Heads that see their path guess again below every node, and a trace records that for "
            "the text only: time dynamic trees of Hydra heads with `bench`."
        )
    return tree.nodes, [_dynamic_steps(text.ranked, tree) for text in texts]


def _dynamic_steps(text: RankedText, tree: DynamicTree) -> list[int]:
    probs = text.probs
    assert probs is not None  # a trace has them
    return steps_through(text.rows, lambda at: set(tree.choose(by_likelihood(probs[at]))))


def _number_of_nodes(name: str) -> int:
    argument = name.removeprefix(BEST)
    known = len(argument) <= 9 and argument.isascii() and argument.isdecimal()
    if not known or not 1 <= int(argument) <= MAX_NODES:
        raise ExplorerError(
            f"'{name:.40}' is not a tree: write best:8, with 1 to {MAX_NODES} nodes."
        )
    return int(argument)


def _best(texts: list[np.ndarray], nodes: int) -> list[RankPath]:
    """The best fixed tree of `nodes` nodes by the rank rows of texts, of several searches."""

    def search(counts: JointCounts) -> list[RankPath]:
        order = greedy_order(counts.success, nodes, texts[0].shape[1], TOP_HEADS)
        return [scored.path for scored in order]

    found = searches(PathIndex(texts), TOP_HEADS, search, lambda paths: paths, SEARCH_REPEATS)
    return max(found, key=lambda paths: replayed_tokens_per_step(texts, paths))
