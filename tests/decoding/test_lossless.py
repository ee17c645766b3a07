"""Greedy Medusa is greedy plain decoding, token for token; and so it is under sampling."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.analysis.tree_names import cartesian, make_tree
from explorer.decoding.acceptance import acceptance_rule
from explorer.decoding.cache import KVCache
from explorer.decoding.drafter import Draft, Drafter
from explorer.decoding.loop import StepResult, decode, prefill
from explorer.decoding.medusa import MedusaDrafter
from explorer.decoding.plain import PlainDrafter
from explorer.decoding.tree import ROOT_ONLY, Tree, chain, cut
from explorer.records.settings import DecodeSettings
from tests.decoding.tiny import ARCHITECTURES, WINDOW, random_heads, tiny_model

PROMPT = [5, 6, 7, 8, 9, 10, 11, 12, 13, 14]
GREEDY = DecodeSettings()


def steps_of(model, drafter, run=GREEDY, prompt=PROMPT, length=48) -> list[StepResult]:
    rule = acceptance_rule(run, model.context_length)
    items = decode(model, drafter, rule, prompt, length)
    return [item for item in items if isinstance(item, StepResult)]


def text_of(steps: list[StepResult]) -> list[int]:
    return [token for step in steps for token in step.emitted]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_greedy_equals_plain_on_every_architecture(architecture):
    model = tiny_model(architecture)
    plain = text_of(steps_of(model, PlainDrafter(), length=40))
    for tree in (chain(1), cartesian([4, 3, 2]), chain(4)):
        steps = steps_of(model, MedusaDrafter(random_heads(model), tree), length=40)
        assert text_of(steps) == plain, tree.name
    assert len(PROMPT) + len(plain) > 2 * WINDOW  # sliding windows have slid


def test_something_is_accepted_so_that_the_tests_above_mean_something():
    model = tiny_model("gemma")
    steps = steps_of(model, MedusaDrafter(random_heads(model), cartesian([4, 3, 2])))
    assert max(len(step.emitted) for step in steps) >= 2


@pytest.fixture(scope="module")
def llama():
    model = tiny_model("llama")
    return model, random_heads(model), text_of(steps_of(model, PlainDrafter()))


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 7), min_size=1, max_size=4).map(tuple), max_size=30),
    st.integers(1, 30),
)
def test_greedy_equals_plain_for_every_shape_and_length(llama, leaves, length):
    model, heads, plain = llama
    closed = {leaf[:depth] for leaf in leaves for depth in range(1, len(leaf) + 1)}
    steps = steps_of(model, MedusaDrafter(heads, Tree(tuple(closed))), length=length)
    assert text_of(steps) == plain[:length]


def test_512_nodes(llama):
    model, heads, plain = llama
    paths = [(a,) for a in range(64)] + [(a, b) for a in range(64) for b in range(7)]
    assert len(paths) == 512
    steps = steps_of(model, MedusaDrafter(heads, make_tree(paths)), length=12)
    assert text_of(steps) == plain[:12]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 1.5])
@pytest.mark.parametrize("filters", [{}, {"top_p": 0.8}, {"top_k": 5}, {"top_k": 9, "top_p": 0.7}])
def test_sampled_text_is_the_same_with_the_same_seed(llama, temperature, filters):
    model, heads, _ = llama
    for seed in range(3):
        run = DecodeSettings(temperature=temperature, seed=seed, **filters)
        plain = text_of(steps_of(model, PlainDrafter(), run))
        assert text_of(steps_of(model, MedusaDrafter(heads, cartesian([8, 4])), run)) == plain


def test_seeds_differ(llama):
    model, _, _ = llama
    texts = {
        tuple(text_of(steps_of(model, PlainDrafter(), DecodeSettings(temperature=1.5, seed=seed))))
        for seed in range(4)
    }
    assert len(texts) == 4


def test_eos_at_each_depth_ends_the_text_there(llama, monkeypatch):
    model, heads, plain = llama
    seen = set()
    for eos in list(dict.fromkeys(plain))[:12]:
        monkeypatch.setattr(model, "eos_ids", frozenset({eos}))
        wide = MedusaDrafter(heads, cartesian([20, 8, 2]))
        expected = text_of(steps_of(model, PlainDrafter()))
        steps = steps_of(model, wide)
        assert text_of(steps) == expected == plain[: plain.index(eos) + 1]
        seen.add(len(steps[-1].emitted) - 1)
    assert {0, 1} <= seen


class _Told(Drafter):
    """A drafter that knows the text to come: node (0,)*d holds the true token at depth d."""

    def __init__(self, text: list[int], wrong_from: int = 99) -> None:
        self.text, self.wrong_from = text, wrong_from

    def draft(self, context):
        tree = cut(cartesian([2, 1, 1, 1]), context.max_depth)
        at = len(context.text) - len(PROMPT)  # new tokens so far, the root included
        tokens = [context.root]
        for path in tree.paths:
            true = self.text[at + len(path) - 1]
            wrong = any(path) or len(path) >= self.wrong_from
            tokens.append((true + 1) % 90 if wrong else true)
        return Draft(tree, torch.tensor(tokens), torch.ones(tree.n))


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_eos_inside_the_accepted_path(llama, depth, monkeypatch):
    model, _, plain = llama
    first = [plain.index(token) for token in plain]
    # the first token of the text that occurs nowhere before, at this depth of a full step of five
    at = next(i for i in range(5, 40) if first[i] == i and i % 5 == depth)
    monkeypatch.setattr(model, "eos_ids", frozenset({plain[at]}))
    steps = steps_of(model, _Told([*plain, *[0] * 9]))
    assert text_of(steps) == plain[: at + 1]
    assert len(steps[-1].emitted) == depth + 1


def test_a_perfect_drafter_is_accepted_in_full_and_a_wrong_one_never(llama):
    model, _, plain = llama
    padded = [*plain, *[0] * 9]
    assert all(len(step.emitted) == 5 for step in steps_of(model, _Told(padded), length=40))
    wrong = steps_of(model, _Told(padded, wrong_from=1), length=10)
    assert all(len(step.emitted) == 1 for step in wrong)
    assert text_of(wrong) == plain[:10]


def test_the_same_token_under_two_parents(llama):
    model, _, plain = llama

    class Twice(Drafter):
        def draft(self, context):
            tree = make_tree([(0,), (1,), (0, 0), (1, 0)])
            if context.max_depth < 2:
                tree = ROOT_ONLY
            at = len(context.text) - len(PROMPT)
            right, after = plain[at], plain[at + 1]
            tokens = [context.root, (right + 1) % 90, right, after, after][: tree.n]
            return Draft(tree, torch.tensor(tokens), torch.ones(tree.n))

    steps = steps_of(model, Twice(), length=9)
    assert text_of(steps) == plain[:9]
    assert steps[0].verdict.path == [0, 2, 4]  # by rank path, not by token


def test_max_new_tokens_and_the_context_limit(llama):
    model, heads, plain = llama
    drafter = MedusaDrafter(heads, cartesian([4, 3, 2]))
    for length in (1, 2, 3, 7):
        assert text_of(steps_of(model, drafter, length=length)) == plain[:length]
    before, model.context_length = model.context_length, len(PROMPT) + 6
    steps = steps_of(model, drafter)
    model.context_length = before
    assert text_of(steps) == plain[:6]


def test_closing_the_generator_frees_the_cache(llama, monkeypatch):
    made = []
    real = KVCache.of

    def remembered(model, tokens=0):
        cache = real(model)
        made.append(weakref.ref(cache))
        return cache

    monkeypatch.setattr(KVCache, "of", remembered)
    model, heads, _ = llama
    run = decode(model, MedusaDrafter(heads, chain(2)), acceptance_rule(GREEDY, 256), PROMPT, 40)
    next(run), next(run)
    assert made[0]() is not None
    run.close()
    del run
    gc.collect()
    assert made[0]() is None


@pytest.mark.parametrize("architecture", ["llama", "mistral", "gemma3", "phi"])
def test_a_nodes_logits_are_those_of_a_plain_pass_over_its_path(architecture):
    model = tiny_model(architecture)
    tree = cartesian([3, 2, 2])
    tokens = torch.arange(tree.n) * 13 % 90
    cache = KVCache.of(model)
    prefill(model, PROMPT, cache)
    logits = model.logits(model.forward(tokens, tree.depths, tree.mask, cache))
    for row in range(tree.n):
        alone = KVCache.of(model)
        hidden = prefill(model, PROMPT + tokens[tree.path_to(row)].tolist(), alone)
        torch.testing.assert_close(model.logits(hidden)[0], logits[row], atol=2e-4, rtol=1e-4)


@pytest.mark.parametrize("architecture", ["llama", "mistral", "gemma2", "gemma3"])
def test_after_commit_the_cache_is_that_of_a_plain_pass(architecture):
    model = tiny_model(architecture)
    tree = cartesian([3, 2, 2])
    tokens = torch.arange(tree.n) * 13 % 90
    path = tree.path_to(tree.n - 1)
    cache, alone = KVCache.of(model), KVCache.of(model)
    prefill(model, PROMPT, cache)
    model.forward(tokens, tree.depths, tree.mask, cache)
    cache.commit(path)
    prefill(model, PROMPT + tokens[path].tolist(), alone)
    assert cache.length == alone.length == len(PROMPT) + 4
    for ours, theirs in zip(cache.layers, alone.layers, strict=True):
        for a, b in zip(ours.committed(), theirs.committed(), strict=True):
            torch.testing.assert_close(a, b, atol=2e-5, rtol=1e-4)


def test_the_cache_grows_by_blocks_and_keeps_what_it_holds():
    model = tiny_model("llama")
    model.context_length = 1024
    plain = text_of(steps_of(model, PlainDrafter(), length=300))
    heads = random_heads(model)
    assert text_of(steps_of(model, MedusaDrafter(heads, cartesian([4, 2])), length=300)) == plain
