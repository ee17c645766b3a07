"""Which tree a run decodes with."""

from __future__ import annotations

import pytest

from explorer.decoding.dynamic import TRUST, DynamicTree, Prices
from explorer.decoding.tree import ROOT_ONLY, chain
from explorer.measuring.head_set import HeadSet
from explorer.records.errors import ExplorerError
from explorer.records.settings import decode_settings
from tests.tiny_lab import tiny_explorer

AUTO = {
    length: DynamicTree(2, Prices((0.0, price, price))) for length, price in ((100, 1), (900, 2))
}
FIXED = {100: chain(2), 900: chain(1)}


@pytest.fixture
def explorer():
    explorer = tiny_explorer()
    heads = explorer.heads["medusa"].heads
    explorer.heads["medusa"] = HeadSet(heads, "tiny", AUTO, FIXED)
    return explorer


def tree_for(explorer, prompt_tokens=0, **settings):
    return explorer.tree_for(decode_settings(max_new_tokens=100, **settings), prompt_tokens)


def test_auto_and_fixed_go_by_the_length_of_the_context(explorer):
    # Half-way through the reply: 50 tokens, 250, 350, and 1,050. The middle of 100 and 900 is 300.
    for prompt, length in ((0, 100), (200, 100), (300, 900), (1000, 900)):
        assert tree_for(explorer, prompt) is AUTO[length]
        assert tree_for(explorer, prompt, tree="fixed") is FIXED[length]


def test_drawn_candidates_have_a_fixed_tree(explorer):
    drawn = {"candidates": "drawn", "temperature": 1.0}
    assert tree_for(explorer, **drawn) is FIXED[100]
    assert tree_for(explorer, tree="fixed", **drawn) is FIXED[100]


def test_only_medusa_draws_candidates():
    explorer = tiny_explorer(architecture="hydra")
    heads = explorer.heads["hydra"].heads
    explorer.heads["hydra"] = HeadSet(heads, "tiny", AUTO, FIXED)
    drawn = {"method": "hydra", "candidates": "drawn", "temperature": 1.0}
    assert tree_for(explorer, **drawn) is AUTO[100]


def test_spaces_around_a_tree_do_not_matter(explorer):
    assert tree_for(explorer, tree=" auto ") is AUTO[100]
    assert tree_for(explorer, tree="fixed ") is FIXED[100]


def test_methods_without_heads_have_no_tree(explorer):
    assert tree_for(explorer, method="plain") is ROOT_ONLY
    assert tree_for(explorer, method="plain", tree="fixed") is ROOT_ONLY


def test_other_trees_are_as_they_are_written(explorer):
    assert tree_for(explorer, tree="chain:2") == chain(2)
    assert tree_for(explorer, tree="dynamic:7") == DynamicTree(7)
    with pytest.raises(ExplorerError, match="write auto, fixed, root, chain:3"):
        tree_for(explorer, tree="best")


@pytest.mark.parametrize("tree", ["auto", "fixed"])
def test_either_way_the_text_is_that_of_plain_decoding(explorer, tree):
    plain = explorer.run("some words", method="plain", max_new_tokens=40)
    found = explorer.run("some words", tree=tree, max_new_tokens=40)
    assert found.new_token_ids == plain.new_token_ids


def test_the_trace_tells_what_the_nodes_of_a_step_cost():
    explorer = tiny_explorer()
    heads = explorer.heads["medusa"].heads
    prices = Prices(tuple(0.02 * k for k in range(9)))
    explorer.heads["medusa"] = HeadSet(heads, "tiny", {128: DynamicTree(8, prices)}, {})
    steps = explorer.run("some words", max_new_tokens=40).steps
    judged = [step for step in steps if step.base_top]
    assert [step.price for step in judged] == [0.02 * (len(step.token_ids) - 1) for step in judged]
    assert all(TRUST * sum(step.joint_probs[1:]) >= step.price for step in judged)
    assert any(step.price for step in judged)
    fixed = explorer.run("some words", max_new_tokens=40, tree="chain:2")
    assert {step.price for step in fixed.steps} == {None}
