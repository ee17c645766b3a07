"""Hydra fills a tree depth by depth."""

from __future__ import annotations

import json

import pytest
import torch

from explorer.analysis.tree_names import cartesian
from explorer.decoding.drafter import Context
from explorer.decoding.dynamic import DynamicTree
from explorer.decoding.hydra import DynamicHydraDrafter, HydraDrafter, levels
from explorer.decoding.medusa import MedusaDrafter
from explorer.decoding.plain import PlainDrafter
from explorer.decoding.tree import Tree, chain
from explorer.records.events import TraceBuilder
from explorer.records.settings import decode_settings
from tests.decoding.test_lossless import steps_of, text_of
from tests.decoding.tiny import random_heads, random_hydra, tiny_model
from tests.tiny_lab import tiny_lab


@pytest.fixture(scope="module")
def llama():
    model = tiny_model("llama")
    return model, text_of(steps_of(model, PlainDrafter()))


def context_of(model, max_depth=9) -> Context:
    hidden = torch.randn(1, model.hidden_size, generator=torch.Generator().manual_seed(3))
    return Context(root=7, hidden=hidden, text=[1, 2, 7], max_depth=max_depth)


def test_every_node_is_guessed_from_its_own_path(llama):
    model, _ = llama
    heads, context = random_hydra(model), context_of(model)
    draft = HydraDrafter(heads, cartesian([3, 2, 2])).draft(context)
    for row in range(1, draft.tree.n):
        *ancestors, node = draft.tree.path_to(row)
        path = draft.tokens[ancestors]
        # All heads at once, as in training: head d of the path so far.
        padded = torch.cat([path, torch.zeros(4 - len(path), dtype=torch.long)])
        ids, probs = heads.propose(context.hidden, 16, padded[None])
        rank = int(draft.tree.ranks[node])
        assert draft.tokens[node] == ids[0, len(path) - 1, rank]
        torch.testing.assert_close(draft.probs[node], probs[0, len(path) - 1, rank])


def test_the_path_changes_the_guess(llama):
    model, _ = llama
    draft = HydraDrafter(random_hydra(model), cartesian([8, 1])).draft(context_of(model))
    assert len(set(draft.tokens[9:].tolist())) > 1  # Medusa would put one token under all eight


def test_levels_list_every_node_once():
    tree = Tree(((0,), (1,), (0, 0), (0, 2), (1, 1), (0, 2, 0)))
    children = [row for level in levels(tree) for row in level.children.tolist()]
    assert sorted(children) == list(range(1, tree.n))


@pytest.mark.parametrize("tree", [chain(1), chain(4), cartesian([4, 3, 2]), DynamicTree(9)])
def test_greedy_hydra_equals_plain(llama, tree):
    model, plain = llama
    kind = DynamicHydraDrafter if isinstance(tree, DynamicTree) else HydraDrafter
    steps = steps_of(model, kind(random_hydra(model), tree))
    assert text_of(steps) == plain


def test_trees_are_cut_where_the_text_must_end(llama):
    model, _ = llama
    context = context_of(model, max_depth=1)
    assert HydraDrafter(random_hydra(model), chain(4)).draft(context).tree.depth == 1
    drafter = DynamicHydraDrafter(random_hydra(model), DynamicTree(9))
    assert drafter.draft(context).tree.depth == 1
    drafter = MedusaDrafter(random_heads(model), DynamicTree(9))
    assert drafter.draft(context).tree.depth == 1


@pytest.mark.parametrize("tree", ["auto", "cartesian:2,2", "dynamic:6"])
def test_a_hydra_trace_records_what_every_row_was_offered(tree):
    lab, builder = tiny_lab(architecture="hydra"), TraceBuilder()
    run = decode_settings(method="hydra", tree=tree, max_new_tokens=30)
    for event in lab.decode("some prompt", run):
        builder.add(event)
    trace = builder.trace()
    assert json.loads(trace.model_dump_json())["header"]["num_heads"] == 3
    for step in trace.steps:
        parents = trace.trees[step.tree].parents
        for row in range(1, len(step.token_ids)):
            offered = step.draft_top[parents[row]]
            rank = trace.trees[step.tree].paths[row - 1][-1]
            if rank < len(offered.ids):
                assert offered.ids[rank] == step.token_ids[row]
                assert offered.probs[rank] == step.draft_probs[row]
    found = sorted(position.index for step in trace.steps for position in step.positions)
    first = len(trace.header.prompt_ids) - 1
    assert found == list(range(first, first + len(found)))
    assert len(found) >= 29
