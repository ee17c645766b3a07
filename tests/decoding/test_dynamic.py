"""Dynamic trees take the likeliest nodes, and with prices only as many as pay."""

from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.analysis.tree_names import parse_tree
from explorer.decoding.dynamic import (
    TRUST,
    DynamicTree,
    by_likelihood,
)
from explorer.decoding.hydra import DynamicHydraDrafter, HydraDrafter
from explorer.decoding.medusa import MedusaDrafter
from explorer.decoding.plain import PlainDrafter
from explorer.records.errors import ExplorerError
from explorer.records.prices import Prices
from tests.decoding.test_hydra import context_of
from tests.decoding.test_lossless import steps_of, text_of
from tests.decoding.tiny import random_heads, random_hydra, tiny_model


@pytest.fixture(scope="module")
def llama():
    model = tiny_model("llama")
    return model, text_of(steps_of(model, PlainDrafter()))


@pytest.mark.parametrize("nodes", [1, 7, 40])
def test_greedy_dynamic_medusa_equals_plain(llama, nodes):
    model, plain = llama
    steps = steps_of(model, MedusaDrafter(random_heads(model), DynamicTree(nodes)))
    assert text_of(steps) == plain
    assert len({step.draft.tree.paths for step in steps}) > 1 or nodes == 1
    assert all(len(step.draft.tree.paths) <= nodes for step in steps)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.lists(st.floats(0, 1), min_size=3, max_size=3).map(lambda p: sorted(p, reverse=True)),
        min_size=1,
        max_size=3,
    ),
    st.integers(1, 45),
)
def test_likeliest_paths_are_the_best_of_all(probs, nodes):
    joint = {}
    for depth in range(1, len(probs) + 1):
        for path in itertools.product(range(3), repeat=depth):
            joint[path] = 1.0
            for level, rank in enumerate(path):
                joint[path] *= probs[level][rank]
    found = DynamicTree(nodes).choose(by_likelihood(probs))
    assert len(set(found)) == len(found) <= nodes
    best = sorted(joint.values(), reverse=True)[: len(found)]
    assert sum(joint[path] for path in found) == pytest.approx(sum(best))
    assert all(path[:-1] in {(), *found} for path in found)


def test_a_dynamic_hydra_tree_keeps_the_likeliest_of_what_it_looked_at(llama):
    model, _ = llama
    heads = random_hydra(model)
    drafter = DynamicHydraDrafter(heads, DynamicTree(12))
    draft = drafter.draft(context_of(model))
    fixed = HydraDrafter(heads, draft.tree).draft(context_of(model))
    assert torch.equal(draft.tokens, fixed.tokens)
    torch.testing.assert_close(draft.probs, fixed.probs)
    assert draft.tree.n == 13


def test_a_dynamic_tree_is_written_as_a_number_of_nodes():
    assert parse_tree("dynamic:16") == DynamicTree(16)
    for bad in ("dynamic:0", "dynamic:513", "dynamic:x", "dynamic:"):
        with pytest.raises(ExplorerError):
            parse_tree(bad)


def priced(*each: float, depth: float = 0.0) -> DynamicTree:
    """Nodes that cost so much, one after the other."""
    return DynamicTree(len(each), Prices((0.0, *itertools.accumulate(each)), depth))


def test_nodes_are_taken_as_long_as_they_pay():
    guesses = [(p / TRUST, name) for p, name in ((0.6, "a"), (0.3, "b"), (0.2, "c"), (0.1, "d"))]
    assert priced(0.25, 0.25, 0.25, 0.25).choose(guesses) == ["a", "b"]
    assert priced(0.7, 0.7, 0.7).choose(guesses) == []
    assert priced(0.0, 0.0).choose(guesses) == ["a", "b"]  # no more than the tree may have
    # The first is dear and the next ones cheap, as where a pass of one row has a way of its own.
    assert priced(0.7, 0.1, 0.1, 0.2).choose(guesses) == ["a", "b", "c"]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(0, 100).map(lambda p: p / 100), max_size=12).map(
        lambda joints: sorted(joints, reverse=True)
    ),
    st.lists(st.integers(0, 60).map(lambda p: p / 100), min_size=1, max_size=12),
)
def test_no_other_number_of_nodes_gains_more(joints, each):
    tree = priced(*each)
    chosen = tree.choose((joint, joint) for joint in joints)
    sizes = range(min(len(joints), len(each)) + 1)
    gains = [TRUST * sum(joints[:k]) - tree.prices.rows[k] for k in sizes]
    assert TRUST * sum(chosen) - tree.prices.rows[len(chosen)] == pytest.approx(max(gains))


def test_the_least_price_is_that_of_the_cheapest_stretch():
    # Behind one node, two more cost 0.15 together, which is less each than the first of them does.
    assert Prices((0.0, 0.3, 0.4, 0.45, 0.9)).min_each == pytest.approx((0.15, 0.075, 0.05, 0.45))
    assert Prices((0.0, 0.3)).min_each == pytest.approx((0.3,))


@pytest.mark.parametrize("price", [0.0, 0.02, 0.05, 2.0])
def test_greedy_decoding_with_prices_equals_plain(llama, price):
    model, plain = llama
    tree = priced(*[price] * 12, depth=price)
    sizes = set()
    for drafter in (
        MedusaDrafter(random_heads(model), tree),
        DynamicHydraDrafter(random_hydra(model), tree),
    ):
        steps = steps_of(model, drafter)
        assert text_of(steps) == plain
        sizes |= {len(step.draft.tree.paths) for step in steps}
    assert (max(sizes) == 0) == (price == 2.0)
    assert all(step.draft.tree.name in ("auto", "root") for step in steps)


def test_hydra_heads_are_asked_no_deeper_than_can_pay(llama, monkeypatch):
    model, _ = llama
    heads, asked = random_hydra(model), []
    propose = heads.propose_next
    monkeypatch.setattr(
        heads, "propose_next", lambda h, paths, top: asked.append(paths) or propose(h, paths, top)
    )

    def depths(tree) -> int:
        asked.clear()
        DynamicHydraDrafter(heads, tree).draft(context_of(model))
        return len(asked)

    assert depths(DynamicTree(4)) == heads.config.num_heads
    assert depths(priced(*[1e-6] * 40)) == heads.config.num_heads
    assert depths(priced(*[1e-6] * 40, depth=0.6)) == 1
    # Every path that was asked for could still pay.
    first = TRUST * next(
        joint
        for joint, _ in by_likelihood(
            heads.propose_next(context_of(model).hidden, torch.tensor([[7]]), 16)[1].tolist()
        )
    )
    assert depths(priced(*[first * 0.4] * 4)) > 1
    assert depths(priced(*[first * 0.6] * 4)) == 1
