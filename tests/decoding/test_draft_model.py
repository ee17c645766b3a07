"""The draft model's cache follows the text, and rejection sampling survives odd numbers."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from explorer.analysis.tree_names import cartesian
from explorer.decoding.acceptance import Sample, accept_probability, acceptance_rule, residual
from explorer.decoding.cache import KVCache
from explorer.decoding.draft_model import DraftModelDrafter, fit
from explorer.decoding.drafter import Context, Draft
from explorer.decoding.loop import StepResult, decode, prefill
from explorer.decoding.plain import PlainDrafter
from explorer.decoding.sampling import Draws, distribution
from explorer.decoding.tree import chain
from explorer.models.early_exit import early_exit, require_same_tokenizer
from explorer.records.errors import ExplorerError
from explorer.records.settings import DecodeSettings
from tests.decoding.tiny import tiny_model

PROMPT = [5, 6, 7, 8, 9, 10, 11, 12]


def drawn(tree, tokens, proposals) -> Draft:
    return Draft(tree, torch.tensor(tokens), torch.ones(tree.n), proposals)


def drafter_of(model, run, layers=2) -> DraftModelDrafter:
    return DraftModelDrafter(early_exit(model, layers), run, model.vocab_size, model.context_length)


def steps_of(model, drafter, run, length=40) -> list[StepResult]:
    rule = acceptance_rule(run, model.context_length)
    items = decode(model, drafter, rule, PROMPT, length)
    return [item for item in items if isinstance(item, StepResult)]


def text_of(steps) -> list[int]:
    return [token for step in steps for token in step.emitted]


@pytest.fixture(scope="module")
def llama():
    model = tiny_model("llama")
    return model, text_of(steps_of(model, PlainDrafter(), DecodeSettings()))


@pytest.mark.parametrize("architecture", ["llama", "mistral", "gemma3", "phi"])
def test_greedy_equals_plain(architecture):
    model = tiny_model(architecture)
    plain = text_of(steps_of(model, PlainDrafter(), DecodeSettings()))
    for layers, k in ((1, 1), (2, 3), (2, 7)):
        run = DecodeSettings(draft_tokens=k)
        assert text_of(steps_of(model, drafter_of(model, run, layers), run)) == plain


@pytest.mark.parametrize("temperature", [0.0, 0.5, 1.0, 1.5])
def test_a_draft_that_is_the_target_itself_accepts_everything(llama, temperature):
    model, _ = llama
    run = DecodeSettings(temperature=temperature, draft_tokens=3, top_p=0.95)
    steps = steps_of(model, drafter_of(model, run, layers=3), run)
    assert [len(step.emitted) for step in steps] == [4] * 10


def test_a_poor_draft_is_sometimes_rejected_and_never_costs_the_step(llama):
    model, _ = llama
    run = DecodeSettings(draft_tokens=3)
    lengths = [len(step.emitted) for step in steps_of(model, drafter_of(model, run), run)]
    assert min(lengths) == 1  # nothing matched: the root alone
    assert max(lengths) > 1


def test_the_drafts_cache_is_that_of_a_plain_pass(llama):
    """After a step in which all drafts were accepted, too: the last of them was never read."""
    model, _ = llama
    run = DecodeSettings(draft_tokens=3)
    for layers in (2, 3):
        drafter = drafter_of(model, run, layers)
        text = PROMPT + text_of(steps_of(model, drafter, run, length=24))
        drafter.catch_up(text)
        alone = KVCache.of(drafter.model)
        prefill(drafter.model, text, alone)
        assert drafter.cache.length == alone.length == len(text)
        assert drafter.read == text
        for ours, theirs in zip(drafter.cache.layers, alone.layers, strict=True):
            for a, b in zip(ours.committed(), theirs.committed(), strict=True):
                torch.testing.assert_close(a, b, atol=2e-5, rtol=1e-4)


def test_a_root_that_the_cache_already_holds_is_read_again(llama):
    """A lossy rule may take a rejected draft as its bonus: then all of the text has been read."""
    model, _ = llama
    run = DecodeSettings(draft_tokens=4)
    drafter = drafter_of(model, run)
    text = [*PROMPT, 20]
    first = drafter.draft(Context(20, None, text, 9)).tokens.tolist()
    longer = [*text, *first[1:3]]  # two drafts as text, the second as the root
    again = drafter.draft(Context(longer[-1], None, longer, 9)).tokens
    fresh = drafter_of(model, run).draft(Context(longer[-1], None, longer, 9)).tokens
    assert again.tolist() == fresh.tolist()


def test_eos_in_the_middle_of_the_accepted_drafts(llama, monkeypatch):
    model, plain = llama
    run = DecodeSettings(draft_tokens=3)
    eos = next(t for i, t in enumerate(plain) if i % 4 == 2 and plain.index(t) == i)
    monkeypatch.setattr(model, "eos_ids", frozenset({eos}))
    steps = steps_of(model, drafter_of(model, run, layers=3), run)
    assert text_of(steps) == plain[: plain.index(eos) + 1]
    assert len(steps[-1].verdict.path) > len(steps[-1].emitted)


@pytest.mark.parametrize("length", [1, 2, 3, 5])
def test_max_new_tokens(llama, length):
    model, plain = llama
    run = DecodeSettings(draft_tokens=8)
    steps = steps_of(model, drafter_of(model, run, layers=3), run, length)
    assert text_of(steps) == plain[:length]


def test_a_draft_with_a_shorter_context_stops_drafting(llama):
    model, plain = llama
    run = DecodeSettings(draft_tokens=4)
    drafter = drafter_of(model, run, layers=3)
    drafter.model.context_length = len(PROMPT) + 12
    steps = steps_of(model, drafter, run)
    assert text_of(steps) == plain
    assert steps[-1].draft.tree.n == 1


def test_a_prompt_longer_than_the_drafts_context_is_decoded_plainly(llama):
    model, plain = llama
    run = DecodeSettings(draft_tokens=4)
    drafter = drafter_of(model, run)
    drafter.model.context_length = len(PROMPT) - 2
    steps = steps_of(model, drafter, run, length=6)
    assert text_of(steps) == plain[:6]
    assert drafter.cache.length == 0


def test_the_same_seed_repeats_the_text_and_another_does_not(llama):
    model, _ = llama

    def text(seed):
        run = DecodeSettings(temperature=1.0, seed=seed)
        return text_of(steps_of(model, drafter_of(model, run), run))

    assert text(4) == text(4) != text(5)


def test_early_exit_shares_every_weight_and_leaves_the_model_alone(llama):
    model, plain = llama
    draft = early_exit(model, 2)
    ours = {p.data_ptr() for p in draft.network.parameters()}
    assert ours < {p.data_ptr() for p in model.network.parameters()}
    assert draft.config.num_hidden_layers == len(draft.network.base_model.layers) == 2
    assert model.config.num_hidden_layers == len(model.network.base_model.layers) == 3
    assert text_of(steps_of(model, PlainDrafter(), DecodeSettings())) == plain
    for layers in (0, 4):
        with pytest.raises(ExplorerError, match="it has 3"):
            early_exit(model, layers)


def test_logits_are_fitted_to_the_base_models_vocabulary():
    logits = torch.tensor([[1.0, 2.0, 3.0]])
    assert fit(logits, 2).tolist() == [[1.0, 2.0]]
    assert fit(logits, 3) is not None
    wider = distribution(fit(logits, 5), DecodeSettings(temperature=1.0))
    assert wider[0, 3:].tolist() == [0.0, 0.0]
    assert wider.sum().item() == pytest.approx(1)


def test_tokenizers_must_match():
    def model(vocabulary):
        tokenizer = SimpleNamespace(get_vocab=lambda: vocabulary)
        return SimpleNamespace(name="m", tokenizer=tokenizer)

    require_same_tokenizer(model({"a": 0, "b": 1}), model({"b": 1, "a": 0}))
    with pytest.raises(ExplorerError, match="another tokenizer"):
        require_same_tokenizer(model({"a": 0, "b": 1}), model({"a": 1, "b": 0}))


class TestRejection:
    def test_acceptance_where_q_is_zero(self):
        p, q = torch.tensor([0.5, 0.5, 0.0]), torch.tensor([0.25, 0.0, 0.0])
        assert [accept_probability(p, q, token) for token in range(3)] == [1.0, 1.0, 0.0]
        assert accept_probability(q, p, 0) == 0.5

    def test_a_residual_that_sums_to_zero(self):
        p = torch.tensor([0.25, 0.75])
        assert residual(p, p).tolist() == p.tolist()
        assert residual(p, torch.tensor([0.75, 0.25])).tolist() == [0.0, 1.0]

    def test_a_token_of_probability_zero_is_never_accepted(self):
        run = DecodeSettings(temperature=1.0)
        logits = torch.tensor([[0.0, -torch.inf, 0.0]] * 2)
        q = torch.tensor([0.0, 1.0, 0.0])
        for seed in range(200):
            rule = Sample(run, Draws(seed, 4))
            verdict = rule.judge(drawn(chain(1), [0, 1], [q, None]), logits, 0)
            assert verdict.path == [0]
            assert verdict.bonus in (0, 2)
            assert verdict.choices == [verdict.bonus, -1]

    @pytest.mark.parametrize("temperature", [1e-3, 1.0, 100.0])
    def test_huge_and_infinite_logits(self, temperature):
        run = DecodeSettings(temperature=temperature)
        logits = torch.tensor([[1e30, -torch.inf, -1e30, 5.0]] * 2)
        q = distribution(logits[:1], run)[0]
        assert torch.isfinite(q).all()
        verdict = Sample(run, Draws(0, 4)).judge(drawn(chain(1), [0, 0], [q, None]), logits, 0)
        assert (verdict.path, verdict.bonus) == ([0, 1], 0)

    def test_siblings_beyond_what_q_holds_are_never_accepted(self):
        """q holds one token, the tree has room for two: the second is filling."""
        run = DecodeSettings(temperature=1.0)
        logits = torch.zeros(3, 4)
        q = torch.tensor([0.0, 1.0, 0.0, 0.0])
        paths = set()
        for seed in range(100):
            rule = Sample(run, Draws(seed, 4))
            verdict = rule.judge(drawn(cartesian([2]), [0, 1, 1], [q, None, None]), logits, 0)
            paths.add(tuple(verdict.path))
            assert len(verdict.path) == 2 or verdict.bonus != 1
        assert paths == {(0,), (0, 1)}
