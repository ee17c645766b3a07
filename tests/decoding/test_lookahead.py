"""Lookahead: its mask, its pool, its tree; and that its rows leave no trace in the text."""

from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.decoding.acceptance import acceptance_rule
from explorer.decoding.cache import KVCache
from explorer.decoding.drafter import Context
from explorer.decoding.lookahead import LookaheadDrafter, Pool, branch, guess_tree
from explorer.decoding.loop import StepResult, _verify, decode, prefill
from explorer.decoding.plain import PlainDrafter
from explorer.records.settings import DecodeSettings
from tests.decoding.tiny import tiny_model

PROMPT = [5, 6, 7, 8, 9, 10, 11, 12]


def steps_of(model, drafter, run=None, length=40) -> list[StepResult]:
    rule = acceptance_rule(run or DecodeSettings(), model.context_length)
    items = decode(model, drafter, rule, PROMPT, length)
    return [item for item in items if isinstance(item, StepResult)]


def text_of(steps) -> list[int]:
    return [token for step in steps for token in step.emitted]


@pytest.mark.parametrize("architecture", ["llama", "mistral", "gemma3", "phi"])
def test_greedy_equals_plain(architecture):
    model = tiny_model(architecture)
    plain = text_of(steps_of(model, PlainDrafter()))
    for window, ngram, guesses in ((4, 3, 3), (6, 5, 4)):
        steps = steps_of(model, LookaheadDrafter(window, ngram, guesses))
        assert text_of(steps) == plain


def test_sampled_text_is_plains_with_the_same_seed():
    model = tiny_model("llama")
    for seed in range(3):
        run = DecodeSettings(temperature=1.0, top_p=0.9, seed=seed)
        plain = text_of(steps_of(model, PlainDrafter(), run))
        assert text_of(steps_of(model, LookaheadDrafter(4, 3, 3), run)) == plain


def test_n_grams_are_found_and_accepted():
    """The tiny model falls into a loop, which the pool then knows."""
    model = tiny_model("gemma")
    steps = steps_of(model, LookaheadDrafter(4, 4, 3), length=80)
    assert max(len(step.emitted) for step in steps) >= 3


@pytest.mark.parametrize(("width", "levels"), [(1, 2), (3, 2), (4, 3), (5, 4)])
def test_a_rows_view_is_its_columns_past(width, levels):
    """Row (l, j) sees the oldest level up to j, then column j down to itself: l + j positions."""
    offsets, mask = branch(width, levels)
    places = [(level, column) for level in range(levels) for column in range(width)][1:]
    for row, (level, column) in enumerate(places):
        expected = {(0, j) for j in range(1, column + 1)} | {
            (below, column) for below in range(level + 1) if (below, column) != (0, 0)
        }
        assert {place for place, sees in zip(places, mask[row], strict=True) if sees} == expected
        assert offsets[row] == level + column
        # with the root, exactly one token at each position up to its own
        assert sorted(int(offsets[i]) for i in torch.nonzero(mask[row])) == list(
            range(1, level + column + 1)
        )


def test_the_newest_levels_logits_are_those_of_a_plain_pass_over_its_view():
    model = tiny_model("llama")
    drafter = LookaheadDrafter(window=3, ngram=4, guesses=2)
    drafter.pool.add([20, 30, 31, 32])
    text = [*PROMPT, 20]
    draft = drafter.draft(Context(20, None, text, 30))
    cache = KVCache.of(model)
    prefill(model, PROMPT, cache)
    hidden, logits, asked = _verify(model, draft, cache)
    assert len(hidden) == len(logits) == draft.tree.n == 4
    rows = [20, *draft.extra.tokens.tolist()]  # the window, its corner included
    for column in range(3):
        view = [rows[j] for j in range(column + 1)]
        view += [rows[level * 3 + column] for level in (1, 2)]
        alone = model.logits(prefill(model, PROMPT + view, KVCache.of(model)))[0]
        torch.testing.assert_close(asked[column], alone, atol=2e-4, rtol=1e-4)


def test_the_window_moves_up_a_level_and_feeds_the_pool():
    drafter = LookaheadDrafter(window=2, ngram=3, guesses=4)
    drafter.draft(Context(9, None, [*PROMPT, 9], 20))
    window = [list(level) for level in drafter.window]
    assert window[0][0] == 9
    assert {token for level in window for token in level} <= {*PROMPT, 9}
    logits = torch.zeros(2, 96)
    logits[0, 40] = logits[1, 41] = 1
    drafter.update(logits)
    assert drafter.pool.after(9) == [[window[1][0], 40]]
    assert [window[1][1], 41] in drafter.pool.after(window[0][1])
    assert drafter.window == [window[1], [40, 41]]


def test_the_cache_holds_the_text_alone():
    model = tiny_model("mistral")
    caches = []
    real = KVCache.of
    try:
        KVCache.of = lambda model, tokens=0: caches.append(real(model)) or caches[-1]
        steps = steps_of(model, LookaheadDrafter(4, 3, 3), length=30)
    finally:
        KVCache.of = real
    text = PROMPT + text_of(steps)[:-1]  # the last token needed no pass
    alone = KVCache.of(model)
    prefill(model, text, alone)
    assert caches[0].length == alone.length
    for ours, theirs in zip(caches[0].layers, alone.layers, strict=True):
        for a, b in zip(ours.committed(), theirs.committed(), strict=True):
            torch.testing.assert_close(a, b, atol=2e-5, rtol=1e-4)


def test_no_window_beyond_the_end_of_the_text():
    model = tiny_model("llama")
    steps = steps_of(model, LookaheadDrafter(4, 3, 3), length=12)
    for step in steps:
        rows = step.draft.extra
        written = len(PROMPT) + 12
        if rows is not None:
            assert step.context_length + int(rows.offsets.max()) < written
    assert steps[0].draft.extra is not None
    assert steps[-1].draft.extra is None


def test_the_state_is_recorded():
    model = tiny_model("llama")
    steps = steps_of(model, LookaheadDrafter(4, 3, 3), length=20)
    states = [step.draft.record.lookahead for step in steps if step.draft.extra]
    assert all(len(state.window) == 2 and len(state.window[0]) == 4 for state in states)
    assert states[0].pool_size == 0 < states[-1].pool_size
    for earlier, later in itertools.pairwise(states):
        assert later.window[0][1:] == earlier.window[1][1:]  # moved up; the corner is the root


class TestPool:
    def test_the_latest_come_first_and_the_oldest_go(self):
        pool = Pool(2)
        for last in (1, 2, 3, 2):
            pool.add([7, 0, last])
        assert pool.after(7) == [[0, 2], [0, 3]]
        assert pool.size == 2
        assert pool.after(8) == []

    def test_what_it_hands_out_is_a_copy(self):
        pool = Pool(2)
        pool.add([7, 0, 1])
        pool.after(7)[0].append(9)
        assert pool.after(7) == [[0, 1]]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=4), max_size=8))
def test_the_guess_tree_holds_each_guess_once(guesses):
    tree, tokens = guess_tree(9, guesses)
    assert tokens[0] == 9
    assert len(tokens) == tree.n
    paths = [tuple(tokens[row] for row in tree.path_to(row)[1:]) for row in range(tree.n)]
    beginnings = {(), *(tuple(guess[:n]) for guess in guesses for n in range(1, len(guess) + 1))}
    assert sorted(paths) == sorted(beginnings)  # each beginning is one node
