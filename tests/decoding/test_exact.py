"""Every lossless method writes plain sampling's distribution, exactly; planted mutants do not."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from explorer.analysis.tree_names import cartesian, make_tree
from explorer.decoding import acceptance
from explorer.decoding.acceptance import Sample, Typical
from explorer.decoding.cache import KVCache
from explorer.decoding.draft_model import DraftModelDrafter
from explorer.decoding.drafter import Draft, Drafter
from explorer.decoding.drawn import DrawnMedusaDrafter
from explorer.decoding.lookahead import LookaheadDrafter
from explorer.decoding.medusa import MedusaDrafter
from explorer.decoding.plain import PlainDrafter
from explorer.decoding.prompt_lookup import PromptLookupDrafter
from explorer.decoding.sampling import TEXT, Draws, coin, distribution, drafting
from explorer.decoding.tree import chain
from explorer.records.settings import DecodeSettings
from tests.decoding.exact import (
    SETTINGS,
    TableHeads,
    TableModel,
    TokenCache,
    by_steps,
    plain_texts,
    total_variation,
    whole_runs,
)

VOCAB = 4
EQUAL = 1e-5  # float32 probabilities, multiplied
LARGE = 0.01  # total variation that a mutant must reach


@pytest.fixture(autouse=True)
def token_caches(monkeypatch):
    monkeypatch.setattr(KVCache, "of", lambda model, tokens=0: TokenCache())


@pytest.fixture(scope="module")
def model():
    return TableModel(VOCAB, seed=1)


def settings_of(**values) -> DecodeSettings:
    return DecodeSettings(draft_tokens=2, **values)


def drafting_with(draft, settings, base):
    """make_drafter for a draft model whose random numbers are the oracle's."""

    def make(oracle):
        drafter = DraftModelDrafter(draft, settings, base.vocab_size, 64)
        drafter.draws = oracle
        return drafter

    return make


def drawing_with(heads, tree, settings):
    def make(oracle):
        drafter = DrawnMedusaDrafter(heads, tree, settings, 64)
        drafter.draws = oracle
        return drafter

    return make


def rule_of(settings):
    return lambda oracle: Sample(settings, oracle)


@pytest.mark.parametrize("values", SETTINGS.values(), ids=SETTINGS)
class TestEveryMethodIsLossless:
    def test_plain(self, model, values):
        run = settings_of(**values)
        written = whole_runs(model, lambda oracle: PlainDrafter(), rule_of(run))
        assert total_variation(written, plain_texts(model, run)) < EQUAL

    def test_medusa(self, model, values):
        run, heads = settings_of(**values), TableHeads(model, 2)
        for tree in (chain(2), cartesian([2, 2])):
            written = whole_runs(
                model, lambda oracle, tree=tree: MedusaDrafter(heads, tree), rule_of(run)
            )
            assert total_variation(written, plain_texts(model, run)) < EQUAL

    def test_draft_model(self, model, values):
        run = settings_of(**values)
        make = drafting_with(TableModel(VOCAB, seed=2), run, model)
        written = by_steps(model, make, rule_of(run))
        assert total_variation(written, plain_texts(model, run)) < EQUAL

    def test_medusa_with_drawn_candidates(self, values):
        model, run = TableModel(3, seed=7), settings_of(**values, candidates="drawn")
        for tree in (cartesian([3]), make_tree([(0,), (2,), (2, 1)])):
            make = drawing_with(TableHeads(model, 2), tree, run)
            written = by_steps(model, make, rule_of(run))
            assert total_variation(written, plain_texts(model, run)) < EQUAL

    def test_lookahead(self, model, values):
        run = settings_of(**values)

        def make(oracle):
            drafter = LookaheadDrafter(window=1, ngram=3, guesses=3)
            for first in range(VOCAB):  # guesses that share a token, and one more
                for guess in ([0, 1], [0, 2], [3, first]):
                    drafter.pool.add([first, *guess])
            return drafter

        written = whole_runs(model, make, rule_of(run))
        assert total_variation(written, plain_texts(model, run)) < EQUAL

    def test_prompt_lookup(self, model, values):
        run = settings_of(**values)
        written = whole_runs(model, lambda oracle: PromptLookupDrafter(2, 2), rule_of(run))
        assert total_variation(written, plain_texts(model, run)) < EQUAL


def test_a_whole_run_with_a_draft_model_takes_back_what_was_rejected():
    """Step by step the draft's cache starts afresh; here it lives through the run."""
    model, run = TableModel(3, seed=1), settings_of(temperature=1.0)
    make = drafting_with(TableModel(3, seed=2), run, model)
    written = whole_runs(model, make, rule_of(run))
    assert total_variation(written, plain_texts(model, run)) < EQUAL


@pytest.mark.parametrize("size", [3, 6], ids=["smaller", "larger"])
def test_vocabularies_padded_to_other_sizes(model, size):
    run = settings_of(temperature=1.0, top_k=3)
    make = drafting_with(TableModel(size, seed=2), run, model)
    assert total_variation(by_steps(model, make, rule_of(run)), plain_texts(model, run)) < EQUAL


class _Mutant(DraftModelDrafter):
    """Passes q on before top-k and top-p have filtered it, though it drew behind them."""

    def _next(self, hidden, position):
        token, prob, _ = super()._next(hidden, position)
        return token, prob, torch.softmax(self.model.logits(hidden)[0], dim=-1)


class _Ranked(Drafter):
    """Hands a head's best guesses over as if they had been drawn from its distribution."""

    def __init__(self, heads, tree, settings):
        self._top = MedusaDrafter(heads, tree)
        self._heads, self._settings = heads, settings

    def draft(self, context):
        draft = self._top.draft(context)
        q = distribution(self._heads(context.hidden)[:, 0], self._settings)
        proposals = [q[d] if d < len(q) else None for d in draft.tree.depths.tolist()]
        return Draft(draft.tree, draft.tokens, draft.probs, proposals=proposals)


class TestMutants:
    def test_no_residual(self, model, monkeypatch):
        run = settings_of(temperature=1.0)
        monkeypatch.setattr(acceptance, "residual", lambda p, q: p)
        make = drafting_with(TableModel(VOCAB, seed=2), run, model)
        written = by_steps(model, make, rule_of(run))
        assert total_variation(written, plain_texts(model, run)) > LARGE

    def test_q_unfiltered(self, model):
        run = settings_of(temperature=1.0, top_k=2)

        def make(oracle):
            drafter = _Mutant(TableModel(VOCAB, seed=2), run, VOCAB, 64)
            drafter.draws = oracle
            return drafter

        written = by_steps(model, make, rule_of(run))
        assert total_variation(written, plain_texts(model, run)) > LARGE

    def test_top_ranked_candidates_as_if_they_were_drawn(self, model):
        run, heads = settings_of(temperature=1.0), TableHeads(model, 2)
        for tree in (chain(2), cartesian([2, 2])):
            written = by_steps(
                model, lambda oracle, tree=tree: _Ranked(heads, tree, run), rule_of(run)
            )
            assert total_variation(written, plain_texts(model, run)) > LARGE

    def test_a_rejected_candidate_stays_in_q(self, monkeypatch):
        model, run = TableModel(VOCAB, seed=1), settings_of(temperature=1.0)
        monkeypatch.setattr(acceptance, "without", lambda q, token: q)
        make = drawing_with(TableHeads(model, 2), cartesian([3]), run)
        written = by_steps(model, make, rule_of(run))
        assert total_variation(written, plain_texts(model, run)) > LARGE

    def test_a_node_judged_by_its_own_row(self, model):
        run = settings_of(temperature=1.0)

        class OwnRow(Sample):
            def judge(self, draft, logits, position):
                return super().judge(draft, logits.roll(-1, 0), position)

        make = drafting_with(TableModel(VOCAB, seed=2), run, model)
        written = by_steps(model, make, lambda oracle: OwnRow(run, oracle))
        assert total_variation(written, plain_texts(model, run)) > LARGE


def test_typical_acceptance_differs(model):
    run, heads = settings_of(temperature=1.0), TableHeads(model, 2)
    written = whole_runs(
        model,
        lambda oracle: MedusaDrafter(heads, cartesian([2, 2])),
        lambda oracle: Typical(run, oracle),
    )
    assert sum(written.values()) == pytest.approx(1.0, abs=1e-4)
    assert total_variation(written, plain_texts(model, run)) > 0.1


P = np.array([0.1, 0.5, 0.15, 0.25])
Q = np.array([0.4, 0.2, 0.1, 0.3])


def rejection_at_many_positions(draft_u, coin_u, text_u) -> float:
    """p-value of 200,000 tokens: one draft from Q each, accepted or replaced, against P."""
    drafts = np.searchsorted(Q.cumsum(), draft_u * Q.sum(), side="right")
    owed = np.maximum(P - Q, 0)
    replaced = np.searchsorted(owed.cumsum(), text_u * owed.sum(), side="right")
    tokens = np.where(coin_u < np.minimum(1, P / Q)[drafts], drafts, replaced)
    counts = np.bincount(tokens, minlength=4)
    return float(chisquare(counts, P * len(tokens)).pvalue)


def test_the_streams_of_a_run_are_independent():
    many = 200_000
    draws = Draws(seed=3, positions=many)
    draft_u, coin_u, text_u = (
        np.array([draws._uniform(t, stream) for t in range(many)])
        for stream in (drafting(0), coin(0), TEXT)
    )
    assert rejection_at_many_positions(draft_u, coin_u, text_u) > 1e-3
    # mutants: one draw is used twice
    assert rejection_at_many_positions(draft_u, draft_u, text_u) < 1e-6
    assert rejection_at_many_positions(draft_u, coin_u, coin_u) < 1e-6
    assert rejection_at_many_positions(draft_u, coin_u, draft_u) < 1e-6


class _Reused(Draws):
    """Mutant: all streams are the same."""

    def _uniform(self, position, stream):
        return super()._uniform(position, TEXT)


@pytest.mark.parametrize(("draws", "lossless"), [(Draws, True), (_Reused, False)])
def test_the_rule_keeps_its_streams_apart(draws, lossless):
    """The product's own rule and draws over many seeds, on one draft and its bonus."""
    runs, tree = 4000, chain(1)
    run = DecodeSettings(temperature=1.0)
    logits = torch.log(torch.tensor(np.stack([P, P]))).float()
    q = torch.tensor(Q).float()
    counts = np.zeros(4)
    for seed in range(runs):
        source = draws(seed, 4)
        tokens = torch.tensor([0, source(q, 1, drafting(0))])
        verdict = Sample(run, source).judge(
            Draft(tree, tokens, torch.ones(2), [q, None]), logits, 0
        )
        counts[tokens[1] if len(verdict.path) == 2 else verdict.bonus] += 1
    p_value = chisquare(counts, P * runs).pvalue
    assert p_value > 1e-3 if lossless else p_value < 1e-6
