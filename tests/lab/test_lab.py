"""Which tree a run decodes with."""

from __future__ import annotations

import pytest

from explorer.decoding.dynamic import TRUST, DynamicTree
from explorer.decoding.tree import ROOT_ONLY, chain
from explorer.measuring.head_set import HeadSet
from explorer.records.errors import ExplorerError
from explorer.records.prices import Prices
from explorer.records.settings import decode_settings
from tests.tiny_lab import tiny_lab

AUTO = {
    length: DynamicTree(2, Prices((0.0, price, price))) for length, price in ((100, 1), (900, 2))
}
FIXED = {100: chain(2), 900: chain(1)}


@pytest.fixture
def lab():
    lab = tiny_lab()
    heads = lab.heads["medusa"].heads
    lab.heads["medusa"] = HeadSet(heads, "tiny", AUTO, FIXED)
    return lab


def tree_for(lab, prompt_tokens=0, **settings):
    return lab.tree_for(decode_settings(max_new_tokens=100, **settings), prompt_tokens)


def test_auto_and_fixed_go_by_the_length_of_the_context(lab):
    # Half-way through the reply: 50 tokens, 250, 350, and 1,050. The middle of 100 and 900 is 300.
    for prompt, length in ((0, 100), (200, 100), (300, 900), (1000, 900)):
        assert tree_for(lab, prompt) is AUTO[length]
        assert tree_for(lab, prompt, tree="fixed") is FIXED[length]


def test_drawn_candidates_have_a_fixed_tree(lab):
    drawn = {"candidates": "drawn", "temperature": 1.0}
    assert tree_for(lab, **drawn) is FIXED[100]
    assert tree_for(lab, tree="fixed", **drawn) is FIXED[100]


def test_only_medusa_draws_candidates():
    lab = tiny_lab(architecture="hydra")
    heads = lab.heads["hydra"].heads
    lab.heads["hydra"] = HeadSet(heads, "tiny", AUTO, FIXED)
    drawn = {"method": "hydra", "candidates": "drawn", "temperature": 1.0}
    assert tree_for(lab, **drawn) is AUTO[100]


def test_spaces_around_a_tree_do_not_matter(lab):
    assert tree_for(lab, tree=" auto ") is AUTO[100]
    assert tree_for(lab, tree="fixed ") is FIXED[100]


def test_methods_without_heads_have_no_tree(lab):
    assert tree_for(lab, method="plain") is ROOT_ONLY
    assert tree_for(lab, method="plain", tree="fixed") is ROOT_ONLY


def test_other_trees_are_as_they_are_written(lab):
    assert tree_for(lab, tree="chain:2") == chain(2)
    assert tree_for(lab, tree="dynamic:7") == DynamicTree(7)
    with pytest.raises(ExplorerError, match="write auto, fixed, root, chain:3"):
        tree_for(lab, tree="best")


@pytest.mark.parametrize("tree", ["auto", "fixed"])
def test_either_way_the_text_is_that_of_plain_decoding(lab, tree):
    plain = lab.run("some words", method="plain", max_new_tokens=40)
    found = lab.run("some words", tree=tree, max_new_tokens=40)
    assert found.new_token_ids == plain.new_token_ids


def test_the_trace_records_what_the_nodes_of_a_step_cost():
    lab = tiny_lab()
    heads = lab.heads["medusa"].heads
    prices = Prices(tuple(0.02 * k for k in range(9)))
    lab.heads["medusa"] = HeadSet(heads, "tiny", {128: DynamicTree(8, prices)}, {})
    steps = lab.run("some words", max_new_tokens=40).steps
    judged = [step for step in steps if step.base_top]
    assert [step.price for step in judged] == [0.02 * (len(step.token_ids) - 1) for step in judged]
    assert all(TRUST * sum(step.joint_probs[1:]) >= step.price for step in judged)
    assert any(step.price for step in judged)
    fixed = lab.run("some words", max_new_tokens=40, tree="chain:2")
    assert {step.price for step in fixed.steps} == {None}
