"""Prompt lookup copies from behind the latest occurrence of the longest ending."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.decoding.acceptance import acceptance_rule
from explorer.decoding.loop import StepResult, decode
from explorer.decoding.plain import PlainDrafter
from explorer.decoding.prompt_lookup import PromptLookupDrafter
from explorer.records.settings import DecodeSettings
from tests.decoding.tiny import tiny_model

PROMPT = [5, 6, 7, 8, 5, 6]


def steps_of(model, drafter, run=None, length=60) -> list[StepResult]:
    rule = acceptance_rule(run or DecodeSettings(), model.context_length)
    items = decode(model, drafter, rule, PROMPT, length)
    return [item for item in items if isinstance(item, StepResult)]


def text_of(steps) -> list[int]:
    return [token for step in steps for token in step.emitted]


@pytest.mark.parametrize("architecture", ["llama", "mistral", "gemma2"])
def test_greedy_equals_plain(architecture):
    model = tiny_model(architecture)
    plain = text_of(steps_of(model, PlainDrafter()))
    for tokens, ngram in ((1, 1), (4, 3), (9, 2)):
        assert text_of(steps_of(model, PromptLookupDrafter(tokens, ngram))) == plain


def test_sampled_text_is_plains_with_the_same_seed():
    model = tiny_model("llama")
    run = DecodeSettings(temperature=0.7, seed=2)
    plain = text_of(steps_of(model, PlainDrafter(), run))
    assert text_of(steps_of(model, PromptLookupDrafter(4, 2), run)) == plain


def test_a_loop_is_copied():
    model = tiny_model("gemma")
    steps = steps_of(model, PromptLookupDrafter(6, 3), length=80)
    assert max(len(step.emitted) for step in steps) >= 3


@pytest.mark.parametrize(
    ("text", "copied"),
    [
        ([1, 2, 3, 9, 1, 2], [3, 9, 1]),
        ([1, 2, 3, 1, 2, 4, 1, 2], [4, 1, 2]),  # the latest occurrence
        ([1, 2, 3, 5, 2, 4, 1, 2], [3, 5, 2]),  # the longer ending, though it is older
        ([1, 2, 3], []),
        ([4], []),
        ([4, 4], [4]),  # what follows the first 4 is the second
        ([1, 2, 1], [2, 1]),
    ],
)
def test_lookup(text, copied):
    assert PromptLookupDrafter(3, 2).lookup(text) == copied


def by_search(text, tokens, ngram):
    for n in range(min(ngram, len(text) - 1), 0, -1):
        for end in range(len(text) - 1, n - 1, -1):
            if text[end - n : end] == text[-n:]:
                return text[end : end + tokens]
    return []


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=4), min_size=1, max_size=10),
    st.integers(1, 5),
    st.integers(1, 4),
)
def test_the_index_finds_what_a_search_finds(pieces, tokens, ngram):
    drafter, text = PromptLookupDrafter(tokens, ngram), []
    for piece in pieces:  # the text grows as a run's does
        text += piece
        assert drafter.lookup(text) == by_search(text, tokens, ngram)
