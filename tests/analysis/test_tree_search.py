"""The greedy tree against brute force, and the choice over budgets."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.analysis.joint_counts import count_paths
from explorer.analysis.tree_search import (
    best_tree,
    greedy_order,
    product_success,
)

DEPTH, WIDTH = 3, 2
ALL_PATHS = [p for d in range(1, DEPTH + 1) for p in itertools.product(range(WIDTH), repeat=d)]


def no_overhead(depth):
    """No time for heads and bookkeeping."""
    return 0.0


def brute_force(success, nodes):
    """The most expected accepted drafts of any prefix-closed tree of `nodes` nodes."""
    return max(
        sum(map(success, tree))
        for tree in itertools.combinations(ALL_PATHS, nodes)
        if all(len(p) == 1 or p[:-1] in tree for p in tree)
    )


rank_table = st.lists(
    st.tuples(*[st.integers(-1, WIDTH - 1)] * DEPTH), min_size=1, max_size=30
).map(lambda rows: np.array(rows, dtype=np.int16))


@settings(max_examples=60, deadline=None)
@given(rank_table)
def test_greedy_on_joint_counts_is_optimal_for_every_budget(rows):
    success = count_paths([rows], WIDTH).success
    order = greedy_order(success, len(ALL_PATHS), DEPTH, WIDTH)
    for nodes in range(1, 7):
        greedy = sum(scored.success for scored in order[:nodes])
        assert greedy == pytest.approx(brute_force(success, nodes))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(*[st.floats(0, 0.5)] * WIDTH), min_size=DEPTH, max_size=DEPTH))
def test_greedy_on_accuracies_is_optimal_for_every_budget(accuracy):
    success = product_success(accuracy)
    order = greedy_order(success, len(ALL_PATHS), DEPTH, WIDTH)
    for nodes in range(1, 7):
        greedy = sum(scored.success for scored in order[:nodes])
        assert greedy == pytest.approx(brute_force(success, nodes))


def test_by_hand():
    order = greedy_order(product_success([[0.5, 0.3], [0.4, 0.2]]), 6, 2, 2)
    assert [s.path for s in order] == [(0,), (1,), (0, 0), (1, 0), (0, 1), (1, 1)]
    assert [s.success for s in order] == pytest.approx([0.5, 0.3, 0.2, 0.12, 0.1, 0.06])


def test_ranks_need_not_be_in_order():
    # rank 1 is right more often than rank 0: a lazy search that stops at rank 0 would miss it
    order = greedy_order(product_success([[0.1, 0.6]]), 1, 1, 2)
    assert order[0].path == (1,)


def test_a_measure_that_grows_along_a_path_is_refused():
    with pytest.raises(ValueError, match="more often"):
        greedy_order(lambda path: 0.1 * len(path), 5, 3, 2)


def test_nodes_that_are_never_right_are_left_out():
    assert len(greedy_order(product_success([[0.5, 0.0]]), 10, 1, 2)) == 1
    assert greedy_order(product_success([[0.5]]), 10, 0, 2) == []


def test_the_first_nodes_are_the_best_tree_of_their_number():
    order = greedy_order(product_success([[0.5, 0.3], [0.4, 0.2]]), 4, 2, 2)
    assert {scored.path for scored in order} == {(0,), (1,), (0, 0), (1, 0)}


ORDER = greedy_order(product_success([[0.5, 0.2, 0.1], [0.4, 0.2, 0.1]]), 12, 2, 3)


def test_free_rows_ask_for_the_whole_tree_and_dear_ones_for_a_chain_of_one():
    assert len(best_tree(ORDER, lambda n: 1.0, no_overhead).paths) == 12
    assert best_tree(ORDER, lambda n: 1 + 0.4 * (n - 1), no_overhead).paths == ((0,),)


def test_the_choice_over_budgets_is_the_best_of_all():
    def cost(n):
        return 1 + 0.1 * (n - 1)

    choice = best_tree(ORDER, cost, lambda depth: 0.05)
    speedups = [
        (1 + sum(s.success for s in ORDER[:k])) / (cost(k + 1) + 0.05) for k in range(1, 13)
    ]
    assert choice.expected_speedup == pytest.approx(max(speedups))
    assert len(choice.paths) == 1 + int(np.argmax(speedups))


def test_where_all_lose_the_least_loser_is_chosen_and_says_so():
    choice = best_tree(ORDER, lambda n: 3.0 * n, no_overhead)
    assert len(choice.paths) == 1
    assert choice.expected_speedup == pytest.approx(1.5 / 6)


def test_a_replay_overrules_the_sum():
    choice = best_tree(ORDER, lambda n: 1.0, no_overhead, tokens_per_step=lambda nodes: 5 - nodes)
    assert choice.expected_tokens_per_step == 4
    assert len(choice.paths) == 1


def test_nothing_to_choose_from():
    assert best_tree([], lambda n: 1.0, no_overhead) is None


def test_max_nodes_is_kept():
    assert len(best_tree(ORDER, lambda n: 1.0, no_overhead, max_nodes=5).paths) == 5


def test_drafting_that_costs_by_depth_makes_flat_trees():
    deep = best_tree(ORDER, lambda n: 1.0, no_overhead, max_nodes=6).paths
    flat = best_tree(ORDER, lambda n: 1.0, lambda depth: 2.0 * (depth - 1), max_nodes=6).paths
    assert max(map(len, deep)) > 1
    assert max(map(len, flat)) == 1
