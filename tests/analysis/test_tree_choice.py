"""Which tree pays, by hand."""

import numpy as np
import pytest

from explorer.analysis.cost_curve import CostCurve
from explorer.analysis.joint_counts import RankedText, count_paths, rows_near
from explorer.analysis.tree_choice import Costs, choose, with_context_trees
from explorer.analysis.tree_search import greedy_order, product_success
from explorer.measuring import calibration as cal
from explorer.records.errors import ExplorerError
from tests.choices import ACCURACY, KEY, ORDER, at_each_context, curve, make


def test_the_choice_by_hand():
    found = make(slope=0.15)
    # gain of the nodes: .5 .2 .2 .08 …; each costs .15 of 1.1: nodes (0,), (0, 0) and (1,) pay
    speedups = [
        (1 + sum(s.success for s in ORDER[:k])) / (1 + 0.15 * k + 0.1)
        for k in range(1, len(ORDER) + 1)
    ]
    assert found.expected_speedup == pytest.approx(max(speedups))
    assert len(found.tree) == 1 + int(np.argmax(speedups))
    assert found.pays
    assert f"{found.expected_speedup:.2f}×" in found.sentence


def test_two_context_lengths_are_averaged():
    both = choose(KEY, ORDER, Costs([curve(0.1), curve(0.3, 512)], 1, 1), ACCURACY, basis="guess")
    assert both.tree == make(slope=0.2).tree
    assert both.expected_speedup == pytest.approx(make(slope=0.2).expected_speedup)


def test_each_context_length_has_its_own_tree():
    found = at_each_context(curve(0.05), curve(0.3, 512), curve(3.0, 2048))
    trees = found.fixed_trees
    assert list(trees) == [128, 512, 2048]
    assert list(trees[128].paths) == sorted(map(tuple, make(0.05).tree), key=lambda p: (len(p), p))
    assert len(trees[512].paths) < len(trees[128].paths)
    assert trees[2048].paths == ()  # nothing pays there
    assert found.by_context[2].expected_speedup == 1.0


def test_long_contexts_are_judged_by_long_texts():
    right = np.array([[0, 0]] * 2000, dtype=np.int16)
    wrong = np.array([[-1, -1]] * 1900 + [[0, -1]] * 100, dtype=np.int16)
    costs = Costs([curve(0.1, 128), curve(0.1, 4096)], 1, 1)
    both = [RankedText(right[:400], 50)] * 5 + [RankedText(wrong, 4000)]
    found = cal.by_texts(KEY, costs, both, "prompts")
    assert found.fixed_trees[128].paths == ((0,), (0, 0))
    assert found.fixed_trees[4096].paths == ()  # the heads fail there
    few = [RankedText(right[:400], 50)] * 5 + [RankedText(wrong[:900], 4000)]
    found = cal.by_texts(KEY, costs, few, "prompts")
    assert found.fixed_trees[4096].paths == ((0,), (0, 0))  # too few to say: all texts count


def test_a_text_may_grow_from_one_context_into_the_next():
    text = RankedText(np.arange(10, dtype=np.int16)[:, None], before=95)
    assert [rows.ravel().tolist() for rows in rows_near([text], 64, [64, 160])] == [[*range(7)]]
    assert [rows.ravel().tolist() for rows in rows_near([text], 160, [64, 160])] == [[7, 8, 9]]
    assert rows_near([text], 4096, [64, 160, 4096]) == []


def test_at_the_shortest_context_there_is_a_tree_even_if_it_loses():
    assert at_each_context(curve(3.0)).fixed_trees[128].paths == ((0,),)


def test_heads_that_draft_by_depth_cost_by_depth():
    costs = Costs([curve(0.1)], 4.0, 1.0, by_depth=4)
    assert costs.overhead(1) == pytest.approx(2 / 20)
    assert costs.overhead(4) == pytest.approx(5 / 20)


def test_a_tree_is_no_larger_than_the_curve_was_measured():
    accuracy = [[0.09] * 10] * 2
    order = greedy_order(product_success(accuracy), 100, 2, 10)
    found = choose(KEY, order, Costs([curve(0.0)], 0, 0), accuracy, basis="guess")
    assert len(found.tree) == 15


def test_where_nothing_pays_it_says_so_and_loses_least():
    found = make(slope=3.0)
    assert found.tree == [[0]]
    assert not found.pays
    assert found.expected_speedup == pytest.approx(1.5 / 4.1)
    assert "does not pay" in found.sentence
    assert "0.37×" in found.sentence


def test_heads_that_are_never_right_are_an_error():
    with pytest.raises(ExplorerError, match="right even once"):
        choose(KEY, [], Costs([curve(0)], 1, 1), [[0.0]], basis="prompts")


def test_joint_and_product_predictions_stand_side_by_side():
    right = np.random.default_rng(0).permutation([0, -1] * 500)
    rows = np.stack([right, right], axis=1).astype(np.int16)  # the heads fail together
    found = cal.by_texts(KEY, Costs([curve(0.01)], 0, 0), [RankedText(rows, 9)], "prompts")
    assert found.tree == [[0], [0, 0]]
    assert found.joint_tokens_per_step == pytest.approx(2.0)
    assert found.product_tokens_per_step == pytest.approx(1.75)
    assert found.expected_tokens_per_step == pytest.approx(2.0, abs=0.1)
    assert found.positions == 1000


def test_the_tree_is_made_for_the_positions_that_its_steps_start_from(monkeypatch):
    # (0, 0), (1, 0) and (1, 1) are right equally often, but steps start where (1, 0) is.
    cycle = [[-1, 0], [1, 0], [1, 1], [-1, 1], [-1, -1], [0, -1], [0, 0], [-1, 1]]
    texts = [np.array(cycle * 20, dtype=np.int16)]
    three = CostCurve(  # four rows are nearly free, a fifth was not measured
        context_length=9, rounds=1, one_row_ms=9, rows=[1, 4], milliseconds=[9, 9], ratios=[1, 1]
    )
    found = cal.by_texts(KEY, Costs([three], 0, 0), [RankedText(texts[0], 9)], "prompts")
    assert found.tree == [[0], [1], [1, 0]]
    assert found.expected_tokens_per_step == pytest.approx(1.6)
    paths = [tuple(path) for path in found.tree]
    assert found.joint_tokens_per_step == count_paths(texts, 16).tokens_per_step(paths)
    monkeypatch.setattr(cal, "SEARCH_REPEATS", 0)
    once = cal.by_texts(KEY, Costs([three], 0, 0), [RankedText(texts[0], 9)], "prompts")
    assert once.expected_tokens_per_step == pytest.approx(4 / 3)


def test_auto_trees_price_their_nodes_by_context():
    found = at_each_context(curve(0.05), curve(0.3, 512), curve(3.0, 2048))
    trees = found.auto_trees
    assert list(trees) == [128, 512, 2048]
    for tree, best, slope in zip(trees.values(), found.by_context, (0.05, 0.3, 3.0), strict=True):
        assert tree.nodes == 15  # as many as C(n) was measured for
        worth = best.expected_speedup
        assert tree.prices.rows == pytest.approx([worth * slope * k for k in range(16)])
        assert tree.prices.depth == 0
    assert found.by_context[2].expected_speedup == 1  # where nothing pays, plain decoding's rate


def test_a_hydra_head_has_its_price():
    costs = Costs([curve(0.1)], heads_ms=4.0, rest_ms=1.0, by_depth=2)
    found = with_context_trees(
        costs, lambda costs, context: choose(KEY, ORDER, costs, ACCURACY, basis="guess")
    )
    worth = found.by_context[0].expected_speedup
    heads = len(ACCURACY)
    assert found.auto_trees[128].prices.depth == pytest.approx(worth * 4.0 / heads / 20.0)
