"""Rank rows from traces, joint counts by hand, and the replay against a walk by hand."""

import numpy as np
import pytest

from explorer.analysis.formulas import tree_tokens_per_step
from explorer.analysis.joint_counts import (
    MISS,
    GrowingReplay,
    accepted_depth,
    count_paths,
    rank_rows,
    replayed_steps,
    replayed_tokens_per_step,
    visited_rows,
)
from explorer.analysis.path_index import PathIndex
from explorer.analysis.tree_names import parse_tree
from explorer.records.events import TraceBuilder
from explorer.records.settings import decode_settings
from explorer.records.step import Position, TopTokens
from tests.tiny_lab import tiny_lab

ROWS = np.array([[0, 0], [0, MISS], [1, 0], [MISS, 0]], dtype=np.int16)


def test_counts_by_hand():
    joint = count_paths([ROWS[:2], ROWS[2:]], width=3)
    assert joint.positions == 4
    # (1, 0) was right once; the last row's head 2 was right, but not its path
    assert joint.counts == {(0,): 2, (0, 0): 1, (1,): 1, (1, 0): 1}
    assert joint.accuracy == [[0.5, 0.25, 0], [0.75, 0, 0]]
    assert joint.success((0, 0)) == 0.25
    assert joint.success((2,)) == 0


def test_the_product_misses_the_correlation():
    # head 2 is right exactly where head 1 is: half of the positions
    rows = np.array([[0, 0], [MISS, MISS]] * 10, dtype=np.int16)
    joint = count_paths([rows], width=1)
    paths = [(0,), (0, 0)]
    assert joint.tokens_per_step(paths) == pytest.approx(2.0)
    assert tree_tokens_per_step(paths, joint.accuracy) == pytest.approx(1.75)


def test_success_never_grows_along_a_path():
    rng = np.random.default_rng(0)
    joint = count_paths([rng.integers(-1, 4, (500, 4))], width=4)
    assert all(
        count <= joint.counts[path[:-1]] for path, count in joint.counts.items() if len(path) > 1
    )


def test_no_text_no_counts():
    joint = count_paths([], width=16)
    assert joint.success((0,)) == 0
    assert joint.tokens_per_step([(0,)]) == 1
    assert replayed_tokens_per_step([], [(0,)]) == 1


def test_replay_by_hand():
    text = np.array([[0, 0], [9, 9], [9, 9], [0, 1], [9, 9], [1, 0], [9, 9]], dtype=np.int16)
    # t=0: both accepted, next 3; t=3: one (0,) as (0, 1) is not in the tree, next 5; t=5: (1,)
    # is not in the tree, next 6; t=6: none. Seven tokens in four steps.
    assert replayed_tokens_per_step([text], [(0,), (0, 0)]) == pytest.approx(7 / 4)


def test_visited_rows_by_hand():
    text = np.array([[0, 0], [9, 9], [8, 8], [0, 1], [7, 7], [1, 0], [6, 6]], dtype=np.int16)
    empty = np.empty((0, 2), dtype=np.int16)
    visited = visited_rows([text, empty], [(0,), (0, 0)])
    assert visited[0].tolist() == [[0, 0], [0, 1], [1, 0], [6, 6]]
    assert visited[1].shape == (0, 2)


def test_accepted_depth_needs_the_whole_path():
    assert accepted_depth((0, 1, 0), {(0,), (0, 0), (0, 1)}) == 2
    assert accepted_depth((MISS, 0), {(0,), (0, 0)}) == 0


def _position(index, *heads):
    return Position(
        index=index,
        base_choice=0,
        heads=[TopTokens(ids=ids, probs=[0.1] * len(ids)) for ids in heads],
    )


def test_rank_rows_of_a_trace(make_trace, step):
    # prompt [10, 11]; text 12 13 14 15 16; bonus 17. Position t: head 1 must name t+2, head 2 t+3.
    first = step(emitted=(12, 13)).model_copy(
        update={"positions": [_position(2, [99, 14], [15]), _position(3, [98], [17, 16])]}
    )
    second = step(emitted=(14, 15, 16)).model_copy(
        update={"bonus": 17, "positions": [_position(4, [16], [17]), _position(5, [17], [18])]}
    )
    trace = make_trace([10, 11], [first, second], prompt_position=_position(1, [13], [7, 8, 14]))
    # position 5 needs token 8, which nobody knows
    assert rank_rows(trace).tolist() == [[0, 2], [1, 0], [MISS, 1], [0, 0]]


def test_the_bonus_after_an_end_of_sequence_is_no_text(make_trace, step):
    only = step(emitted=(12, 13)).model_copy(update={"bonus": 14, "positions": []})
    trace = make_trace([10, 11], [only], prompt_position=_position(1, [13], [14]), eos_ids=[13])
    assert rank_rows(trace).shape == (0, 2)


def test_an_empty_run_has_no_rows(make_trace):
    assert rank_rows(make_trace([1], [], prompt_position=None)).shape == (0, 2)


def test_a_gap_in_the_record_ends_the_rows(make_trace, step):
    only = step(emitted=(12, 13, 14, 15, 16)).model_copy(
        update={"positions": [_position(3, [14], [15]), _position(4, [15], [16])]}
    )
    trace = make_trace([10, 11], [only], prompt_position=_position(1, [13], [14]))
    assert rank_rows(trace).tolist() == [[0, 0]]  # position 2 is missing


@pytest.fixture(scope="module")
def decoded():
    """Traces of one prompt, by the tree it was decoded with."""
    lab = tiny_lab()

    def decode(tree):
        builder = TraceBuilder()
        settings = decode_settings(tree=tree, max_new_tokens=80)
        for event in lab.decode("tell me", settings):
            builder.add(event)
        return builder.trace()

    return {tree: decode(tree) for tree in ("root", "chain:2", "cartesian:3,2,2", "[[2], [2, 1]]")}


def test_every_tree_leaves_the_same_record_of_what_the_heads_knew(decoded):
    rows = {tree: rank_rows(trace) for tree, trace in decoded.items()}
    shortest = min(map(len, rows.values()))
    assert shortest >= 70
    assert len({r[:shortest].tobytes() for r in rows.values()}) == 1


@pytest.mark.parametrize("recorded", ["root", "cartesian:3,2,2"])
@pytest.mark.parametrize("replayed", ["root", "chain:2", "cartesian:3,2,2", "[[2], [2, 1]]"])
def test_a_replay_takes_the_very_steps_that_decoding_with_that_tree_takes(
    decoded, recorded, replayed
):
    steps = replayed_steps(rank_rows(decoded[recorded]), set(parse_tree(replayed).paths))
    true = [len(step.emitted) for step in decoded[replayed].steps]
    assert len(steps) > 20
    assert steps[:-1] == true[: len(steps) - 1]
    assert replayed == "root" or max(steps) > 1


def test_a_growing_replay_is_a_replay_of_every_size():
    rng = np.random.default_rng(0)
    texts = [rng.integers(-1, 3, (length, 3)).astype(np.int16) for length in (40, 1, 7)]
    order = [(0,), (1,), (0, 0), (0, 1), (1, 2), (0, 0, 2), (2,), (1, 2, 0)]
    growing = GrowingReplay(PathIndex(texts), order)
    for nodes in range(len(order) + 1):
        steps = [tokens for text in texts for tokens in replayed_steps(text, set(order[:nodes]))]
        assert growing.tokens_per_step(nodes) == sum(steps) / len(steps)
        assert replayed_tokens_per_step(texts, order[:nodes]) == sum(steps) / len(steps)
    assert growing.tokens_per_step(8) > growing.tokens_per_step(0) == 1
    assert GrowingReplay(PathIndex([]), order).tokens_per_step(3) == 1
