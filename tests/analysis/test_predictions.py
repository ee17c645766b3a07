"""The formulas on measured inputs, by hand; memory from the tensors; details of every method."""

import numpy as np
import pytest

from explorer.analysis.cost_curve import CostCurve
from explorer.analysis.predictions import (
    StepFacts,
    pooled,
    predict,
    product_tokens_per_step,
    reached,
    step_facts,
)
from explorer.analysis.speedup import DepthAcceptance
from explorer.commands.bench import render
from explorer.measuring import bench as bench_module
from explorer.measuring.assisted_reference import measure_assisted
from explorer.measuring.bench import bench
from explorer.measuring.memory import extra_memory
from explorer.records.schema import TreeShape
from explorer.records.settings import decode_settings
from explorer.records.step import LookaheadState
from tests.tiny_lab import tiny_lab

CURVE = CostCurve(
    context_length=128,
    rounds=1,
    one_row_ms=20,
    rows=[1, 3, 5],
    milliseconds=[20, 24, 30],
    ratios=[1.0, 1.2, 1.5],
)
PROMPTS = [{"id": "a", "prompt": "def f"}, {"id": "b", "prompt": "hello there hello there"}]


def fact(**changes):
    values = {
        "depth": 2,
        "chain": True,
        "rows": 3,
        "emitted": 2,
        "draft_ms": 4.0,
        "verify_ms": 24.0,
        "rest_ms": 0.0,
    }
    return StepFacts(**values | changes)


def depth(number, accepted, rejected):
    return DepthAcceptance(number, accepted, rejected, accepted / (accepted + rejected))


def test_a_chain_by_hand():
    """α = 6/10, K = 2: E = 1 + .6 + .36 = 1.96; T_draft is a fifth of T₁; C(3) = 1.2."""
    found = predict([fact()] * 4, [depth(1, 4, 2), depth(2, 2, 2)], plain_ms=20.0, curve=CURVE)
    assert found.chain
    assert found.alpha == pytest.approx(0.6)
    assert found.tokens_per_step == pytest.approx(1.96)
    assert found.speedup_idealised == pytest.approx(1.96 / 1.2)
    assert found.cost == pytest.approx(1.2)
    assert found.speedup_at_cost == pytest.approx(1.96 / 1.4)
    assert found.measured_speedup == pytest.approx(2 * 20 / 28)
    assert found.error_at_cost == pytest.approx(1.96 / 1.4 / (2 * 20 / 28) - 1)
    # m = 1 accepted draft: 1 · 20 < 4 + 24, but 2 · 20 > 28
    assert not found.pays_as_published
    assert found.pays_corrected


def test_chains_of_several_lengths_each_count_with_their_own():
    """α = .5: E(0) = 1 without a draft, E(2) = 1.75."""
    found = predict([fact(depth=0, rows=1), fact()], [depth(1, 1, 1)], 20.0, CURVE)
    assert found.tokens_per_step == pytest.approx((1 + 1.75) / 2)
    assert found.cost == pytest.approx((1 + 1.2) / 2)


def test_a_tree_by_hand():
    """P(L ≥ 1) = 6/8, P(L ≥ 2) = 2/8: τ = 2, over C(5) + (4 + 1)/20.

    Of the six steps that accepted depth 1, two had no node below: rates would give .75 · .5.
    """
    step = fact(chain=False, rows=5, rest_ms=1.0)
    found = predict([step] * 8, [depth(1, 6, 2), depth(2, 2, 2)], 20.0, CURVE)
    assert reached([depth(1, 6, 2), depth(2, 2, 2)], 8) == [0.75, 0.25]
    assert found.tokens_per_step == pytest.approx(2.0)
    assert found.speedup_at_cost == pytest.approx(2.0 / (1.5 + 0.25))


def test_the_papers_estimate_takes_the_heads_as_independent():
    """Both heads are right at half of the positions, and at the same ones: a chain of two is
    right at every second position, and the product says at every fourth."""
    ranks = np.array([[0, 0], [0, 0], [-1, -1], [-1, -1]])
    chain, bare = ((0,), (0, 0)), ()
    assert product_tokens_per_step([ranks], {chain: 1}) == pytest.approx(1 + 0.5 + 0.25)
    assert product_tokens_per_step([ranks], {chain: 3, bare: 1}) == pytest.approx(1 + 0.75 * 0.75)
    assert product_tokens_per_step([np.zeros((4, 0))], {chain: 1}) is None
    assert product_tokens_per_step([ranks], {}) is None


def test_nothing_measured_nothing_predicted():
    assert predict([], [], 20.0, CURVE) is None
    assert predict([fact()], [], 0.0, CURVE) is None


def test_acceptance_of_several_runs_adds_up():
    found = pooled([[depth(1, 3, 1), depth(2, 1, 2)], [depth(1, 1, 3)]])
    assert [(d.depth, d.accepted, d.first_rejections, d.rate) for d in found] == [
        (1, 4, 4, 0.5),
        (2, 1, 2, pytest.approx(1 / 3)),
    ]


def test_the_facts_of_a_step(step):
    trees = [TreeShape(name="t", paths=[[0], [0, 0], [1]])]
    recorded = step(emitted=(1, 2), verdicts=("root",) * 4, heads=1.0, draft=2.0, verify=9.0)
    found = step_facts(recorded, trees)
    assert (found.depth, found.chain, found.rows, found.draft_ms) == (2, False, 4, 3.0)
    state = LookaheadState(window=[[1, 2], [3, 4]], guesses=[], pool_size=0)
    wide = recorded.model_copy(update={"lookahead": state})
    assert step_facts(wide, trees).rows == 7  # the window's corner is the root
    chain = [TreeShape(name="c", paths=[[0], [0, 0], [0, 0, 0]])]
    assert step_facts(recorded, chain).chain


@pytest.fixture(scope="module")
def lab():
    return tiny_lab()


def test_memory_counts_what_the_base_model_does_not_own(lab):
    def extra(**values):
        return extra_memory(lab, decode_settings(**values))

    heads = lab.heads["medusa"].heads
    base = sum(p.nbytes for p in lab.model.network.parameters())
    assert extra(method="plain").weights_bytes == 0
    assert extra(method="lookahead").share == 0
    found = extra(method="medusa")
    assert found.weights_bytes == sum(p.nbytes for p in heads.parameters())
    assert found.base_bytes >= base
    assert found.share == pytest.approx(found.weights_bytes / found.base_bytes)
    draft = extra(method="draft-model", draft_layers=1)
    assert draft.weights_bytes == 0  # the base model's own layers
    # one layer: keys and values of 1 head of size 16, float32, in slots of 256
    assert draft.cache_bytes == 2 * 16 * 4 * 256


def test_every_method_is_benched_with_its_details(lab, monkeypatch):
    monkeypatch.setattr(bench_module, "WIDTHS", (1, 4))
    methods = ["plain", "draft-model", "prompt-lookup", "lookahead", "medusa"]
    report = bench(
        lab,
        PROMPTS,
        methods,
        max_new_tokens=16,
        tree="cartesian:2,1",
        reference=True,
        draft_layers=1,
        draft_tokens=2,
    )
    assert report.main_method == "draft-model"
    assert set(report.methods) == set(methods)
    assert report.identical_prompts == 2
    assert set(report.details) == set(methods) - {"plain"}
    for name, details in report.details.items():
        assert details.identical_prompts == 2
        assert sum(d.accepted for d in details.acceptance) == sum(
            (tokens - 1) * steps for tokens, steps in details.emitted_per_step.items()
        )
        assert details.prediction.measured_speedup > 0
        assert (details.prediction.product is not None) == (name == "medusa")
        assert details.plain_tokens_per_second > 0
        if name != "lookahead":  # whose guesses may form a chain or a tree
            assert details.prediction.chain == (name != "medusa")
        assert details.per_category.keys() == {""}
    assert report.details["draft-model"].prediction.drafted <= 2
    assert set(report.assisted_reference) == {"draft-model", "prompt-lookup"}
    for compared in report.assisted_reference.values():
        assert compared.identical_prompts == compared.prompts == 2
        assert compared.ours_over_generate > 0
    text = render(report.model_dump(mode="json"))
    for heading in ("as plain", "extra memory", "E or τ", "prompt-lookup over transformers' own"):
        assert heading in text


def test_transformers_assistants_write_what_ours_write(lab):
    for settings in (
        decode_settings(method="draft-model", draft_layers=2, draft_tokens=3, max_new_tokens=20),
        decode_settings(method="draft-model", draft_layers=1, draft_tokens=1, max_new_tokens=20),
        decode_settings(method="prompt-lookup", lookup_tokens=3, max_new_tokens=20),
    ):
        found = measure_assisted(lab, ["abcabcabc", "hello"], {settings.method: settings})
        assert found[settings.method].identical_prompts == 2
    assert measure_assisted(lab, ["abc"], {}) == {}
    assert lab.model.fixed_order  # our attention is back in place
