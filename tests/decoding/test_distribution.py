"""Sampling with a tree draws from the base model's own distribution; planted mutants do not."""

from __future__ import annotations

import itertools
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from explorer.analysis.tree_names import cartesian
from explorer.decoding import acceptance
from explorer.decoding.acceptance import Sample, Typical, Verdict, acceptance_rule, follow
from explorer.decoding.drafter import Draft
from explorer.decoding.sampling import Draws, distribution
from explorer.decoding.tree import Tree, chain
from explorer.records.settings import DecodeSettings
from tests.decoding.exact import SETTINGS

VOCAB, LENGTH, RUNS = 4, 3, 4000
FILTERS = ("temperature", "top_p", "top_k")


class Table:
    """A language model that looks its logits up: [VOCAB] for every prefix."""

    def __init__(self) -> None:
        rng = torch.Generator().manual_seed(5)
        self._logits = {
            prefix: torch.randn(VOCAB, generator=rng) * 1.5
            for length in range(LENGTH + 3)
            for prefix in itertools.product(range(VOCAB), repeat=length)
        }

    def __call__(self, prefix: tuple[int, ...]) -> torch.Tensor:
        return self._logits[prefix]


TABLE = Table()


@cache
def _distribution(logits: tuple[float, ...], *filters: float) -> torch.Tensor:
    settings = SimpleNamespace(**dict(zip(FILTERS, filters, strict=True)))
    return distribution(torch.tensor([logits]), settings)


@pytest.fixture(autouse=True)
def each_distribution_once(monkeypatch):
    """The table has few prefixes: what is drawn from there need not be computed RUNS times."""

    def remembered(logits, settings):
        (row,) = logits.tolist()
        return _distribution(tuple(row), *(getattr(settings, name) for name in FILTERS))

    monkeypatch.setattr(acceptance, "distribution", remembered)


@cache
def verify_pass(written: tuple[int, ...], root: int, tree: Tree) -> tuple[torch.Tensor, ...]:
    """Tokens [n] and logits [n, VOCAB] of a step, its tree filled with fixed guesses."""
    tokens = torch.tensor([root, *(path[-1] for path in tree.paths)])  # token = rank
    paths = [(*written, *tokens[tree.path_to(row)].tolist()) for row in range(tree.n)]
    return tokens, torch.stack([TABLE(path[: LENGTH + 2]) for path in paths])


def text(rule, tree) -> tuple[int, ...]:
    """LENGTH tokens from the rule."""
    written: tuple[int, ...] = ()
    root = rule.first(TABLE(()), 0)
    while len(written) < LENGTH:
        tokens, logits = verify_pass(written, root, tree)
        verdict = rule.judge(Draft(tree, tokens, tokens), logits, len(written))
        written += tuple(tokens[verdict.path].tolist())
        root = verdict.bonus
    return written[:LENGTH]


def exact(settings: DecodeSettings) -> dict[tuple[int, ...], float]:
    """The probability of every text, by enumeration."""
    probs = {(): 1.0}
    for _ in range(LENGTH):
        probs = {
            (*prefix, token): p * float(q)
            for prefix, p in probs.items()
            for token, q in enumerate(distribution(TABLE(prefix)[None], settings)[0])
        }
    return probs


def p_value(make_rule, settings: DecodeSettings, tree) -> float:
    """Chi-square test of RUNS seeded texts against the exact distribution."""
    probs = exact(settings)
    counts = dict.fromkeys(probs, 0)
    for seed in range(RUNS):
        counts[text(make_rule(settings.model_copy(update={"seed": seed})), tree)] += 1
    expected = np.array(list(probs.values())) * RUNS
    observed = np.array(list(counts.values()), dtype=float)
    if observed[expected < 1e-9].sum():
        return 0.0  # something was written that cannot be
    small = expected < 5  # the rare texts together, as the test demands
    observed = np.append(observed[~small], observed[small].sum())
    expected = np.append(expected[~small], expected[small].sum())
    keep = expected > 0
    return float(chisquare(observed[keep], expected[keep] * observed.sum() / expected.sum()).pvalue)


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("tree", [chain(2), cartesian([2, 2])], ids=["chain", "tree"])
def test_sampling_with_a_tree_is_sampling(settings, tree):
    run = DecodeSettings(**settings)
    assert p_value(lambda s: acceptance_rule(s, LENGTH + 4), run, tree) > 1e-3


class _OneDrawReused(Sample):
    """Mutant: every position uses the same uniform number."""

    def first(self, logits, position):
        return super().first(logits, 0)


class _TopRanked(Sample):
    """Mutant: a node is accepted with the probability that p gives it, sibling by sibling, and
    the bonus is drawn without taking out what was rejected."""

    def judge(self, draft, logits, position):
        tree, tokens = draft.tree, draft.tokens
        rng = np.random.default_rng((position, int(self._settings.seed)))
        path = [0]
        while True:
            probs = distribution(logits[path[-1]][None], self._settings)[0]
            child = next(
                (c for c in tree.children[path[-1]] if rng.random() < probs[tokens[c]]), None
            )
            if child is None:
                return Verdict(path, self._draw(probs, position + len(path)), [])
            path.append(child)


class _Unfiltered(Sample):
    """Mutant: top-p and top-k are left out."""

    def first(self, logits, position):
        return self._draw(torch.softmax(logits / self._settings.temperature, -1), position)


MUTANTS = {
    "one draw reused": (_OneDrawReused, "temperature 1"),
    "top-ranked candidates by chance": (_TopRanked, "temperature 1"),
    "unfiltered": (_Unfiltered, "temperature 1, top-k"),
}


@pytest.mark.parametrize(("mutant", "settings"), MUTANTS.values(), ids=MUTANTS)
def test_planted_mutants_are_rejected(mutant, settings):
    run = DecodeSettings(**SETTINGS[settings])
    assert p_value(lambda s: mutant(s, Draws(s.seed, LENGTH + 4)), run, cartesian([2, 2])) < 1e-6


def test_typical_acceptance_changes_the_distribution():
    run = DecodeSettings(temperature=1.0, acceptance="typical", epsilon=0.09, delta=0.3)
    assert p_value(lambda s: acceptance_rule(s, LENGTH + 4), run, cartesian([2, 2])) < 1e-6


def test_typical_acceptance_by_hand():
    """p = (.7, .2, .1): H = 0.80, threshold min(ε, δ·e^−H) = min(.15, .3·.4485) = .1346."""
    logits = torch.log(torch.tensor([[0.7, 0.2, 0.1]])).repeat(4, 1)
    tree = cartesian([3])
    run = DecodeSettings(temperature=1.0, acceptance="typical", epsilon=0.15, delta=0.3)
    verdict = Typical(run, Draws(0, 9)).judge(
        Draft(tree, torch.tensor([0, 1, 0, 2]), torch.ones(4)), logits, 0
    )
    assert verdict.path == [0, 2]  # of the nodes .2 and .7 that pass, the likelier; .1 fails
    assert verdict.thresholds[1:] == pytest.approx([0.1346] * 3, abs=1e-4)


def test_follow_takes_the_child_that_holds_the_answer():
    tree = cartesian([2, 1])
    wanted = {0: 8, 2: 5}
    assert follow(tree, [9, 7, 8, 5, 5], lambda row: wanted.get(row, 1)) == ([0, 2, 4], 1)
    assert follow(tree, [9, 7, 8, 5, 5], lambda row: 3) == ([0], 3)


class TestDistribution:
    def test_temperature_zero_is_the_argmax(self):
        probs = distribution(torch.tensor([[1.0, 3.0, 2.0]]), DecodeSettings())
        assert probs.tolist() == [[0.0, 1.0, 0.0]]

    @pytest.mark.parametrize("temperature", [1e-3, 1.0, 100.0])
    def test_huge_and_infinite_logits(self, temperature):
        logits = torch.tensor([[1e30, -torch.inf, 1e30, 5.0]])
        probs = distribution(logits, DecodeSettings(temperature=temperature))
        assert probs[0].tolist() == [0.5, 0.0, 0.5, 0.0]

    @pytest.mark.parametrize("top_p", [0.1, 0.5, 0.9, 0.999])
    @pytest.mark.parametrize("spread", [0.01, 1.0, 5.0])
    def test_top_p_against_sorting_everything(self, top_p, spread):
        """Flat distributions need more than the tokens that are tried first."""
        logits = torch.randn(3, 5000, generator=torch.Generator().manual_seed(1)) * spread
        probs = distribution(logits, DecodeSettings(temperature=1.0, top_p=top_p))
        full = torch.softmax(logits, -1)
        for row, kept in zip(full, probs, strict=True):
            ranked = row.sort(descending=True)
            count = int((ranked.values.double().cumsum(0) < top_p).sum()) + 1
            assert abs(int((kept > 0).sum()) - count) <= 1
            assert kept.sum().item() == pytest.approx(1.0, abs=1e-5)
            assert kept[ranked.indices[0]] > 0

    def test_a_draw_never_has_probability_zero(self):
        probs = torch.tensor([0.0, 0.5, 0.0, 0.5, 0.0])
        drawn = {Draws(seed, 3)(probs, 2) for seed in range(200)}
        assert drawn == {1, 3}
