"""Decoding in passes of fixed shapes writes the text of eager decoding, token for token."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.decoding import loop
from explorer.decoding.acceptance import acceptance_rule
from explorer.decoding.dynamic import DynamicTree
from explorer.decoding.medusa import MedusaDrafter
from explorer.decoding.plain import PlainDrafter
from explorer.decoding.prompt_lookup import PromptLookupDrafter
from explorer.decoding.tree import Tree, chain
from explorer.kernels.graphs import Recordings
from explorer.models.static_pass import StaticPass
from explorer.records.settings import DecodeSettings
from tests.decoding.tiny import random_heads, tiny_model
from tests.models.tape import TapeRecorder

MODEL = tiny_model()
HEADS = random_heads(MODEL)
WIDE = Tree(((0,), (1,), (2,), (0, 0), (0, 1), (1, 0), (0, 0, 0), (0, 0, 1)), "wide")
DRAFTERS = {
    "plain": PlainDrafter,
    "wide": lambda: MedusaDrafter(HEADS, WIDE),
    "chain": lambda: MedusaDrafter(HEADS, chain(3)),
    "dynamic": lambda: MedusaDrafter(HEADS, DynamicTree(6)),
}


def steps(static, make, prompt, length, **values):
    MODEL.static = static
    try:
        rule = acceptance_rule(DecodeSettings(**values), MODEL.context_length)
        items = list(loop.decode(MODEL, make(), rule, prompt, length))
    finally:
        MODEL.static = None
    return [item for item in items if isinstance(item, loop.StepResult)]


def outcomes(results):
    return [
        (r.emitted, r.context_length, r.draft.tokens.tolist())
        + ((r.verdict.path, r.verdict.bonus, r.verdict.choices) if r.verdict else ())
        for r in results
    ]


RULES = [
    {"temperature": 0.0},
    {"temperature": 0.9, "top_p": 0.8, "seed": 4},
    {"temperature": 1.3, "top_k": 7},
    {"temperature": 0.8, "acceptance": "typical"},
]


@settings(max_examples=30, deadline=None)
@given(
    name=st.sampled_from(sorted(DRAFTERS)),
    rule=st.sampled_from(RULES),
    prompt=st.lists(st.integers(3, 90), min_size=1, max_size=30),
    length=st.integers(1, 40),
)
def test_every_step_is_that_of_eager_decoding(name, rule, prompt, length):
    static = StaticPass(MODEL, Recordings(None))
    eager = steps(None, DRAFTERS[name], prompt, length, **rule)
    assert outcomes(steps(static, DRAFTERS[name], prompt, length, **rule)) == outcomes(eager)


def test_the_host_waits_once_a_step(monkeypatch):
    copies = []
    import explorer.decoding.ahead as ahead

    original = ahead.to_host
    monkeypatch.setattr(ahead, "to_host", lambda t: copies.append(len(t)) or original(t))
    results = steps(StaticPass(MODEL, Recordings(None)), DRAFTERS["wide"], [5, 6, 7], 30)
    judged = [r for r in results if r.verdict]
    # The path's end, the choices, and the heads' ids and probabilities for the next step.
    assert copies == [4] * len(judged)
    assert all("heads" in r.laps and "commit" in r.laps for r in judged)


@pytest.mark.parametrize("rule", RULES[:3])
def test_nothing_behind_the_pass_waits_for_the_device(rule, monkeypatch):
    """All that is queued between the pass and the copy can be taken down as a graph is."""
    import explorer.decoding.ahead as ahead
    from explorer.measuring.cost_curve import filled_cache

    MODEL.static = StaticPass(MODEL, Recordings(None))
    try:
        cache = filled_cache(MODEL, 9)
        drafter = DRAFTERS["wide"]()
        draft = drafter.draft(loop.Context(5, torch.randn(1, 32), [5], 8))
        hidden = MODEL.forward(draft.tokens, WIDE.depths, WIDE.mask, cache)
        logits = MODEL.logits(hidden)
        acceptance = acceptance_rule(DecodeSettings(**{**rule, "top_p": 1.0}), 256)
        monkeypatch.setattr(ahead, "to_host", _stop)
        with pytest.raises(ReachedError), TapeRecorder.tape():
            ahead.judge_ahead(acceptance, drafter, draft, hidden, logits, cache, lambda _: None)
    finally:
        MODEL.static = None


class ReachedError(Exception):
    """Everything before the copy was queued."""


def _stop(tensors):
    raise ReachedError


def test_copied_drafts_and_the_end_of_the_text_are_those_of_eager_decoding():
    prompt = [5, 6, 7, 8, 5, 6, 7, 8, 5, 6]

    def make():
        return PromptLookupDrafter(6, 3)

    static = StaticPass(MODEL, Recordings(None))
    assert outcomes(steps(static, make, prompt, 30)) == outcomes(steps(None, make, prompt, 30))
