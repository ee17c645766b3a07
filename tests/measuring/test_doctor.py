"""The doctor on real runs: the default model with its heads as they ship, and with spoilt ones."""

import time

import pytest
import torch

from explorer.decoding.cache import KVCache
from explorer.heads.checkpoints import load_heads
from explorer.heads.vocabulary import over_whole_vocabulary
from explorer.lab.lab import Lab
from explorer.measuring import doctor
from explorer.measuring.doctor import examine
from explorer.measuring.head_set import HeadSet
from explorer.records.errors import ExplorerError
from explorer.records.paths import ASSETS
from explorer.records.settings import decode_settings
from tests.tiny_lab import tiny_lab

PROMPTS = [
    {"id": "1", "category": "chat", "prompt": "Explain what a binary search is."},
    {"id": "2", "category": "code", "prompt": "Write a Python function that adds two numbers."},
]
BY_THE_HEADS = {"heads-untrained", "heads-of-another-base", "foreign-text", "base-quantised"}


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(doctor, "WIDTHS", (2, 4, 8, 64))
    monkeypatch.setattr(doctor, "ROUNDS", 1)


def untrained(heads, lab):
    heads.block_weight.data.zero_()
    heads.block_bias.data.zero_()
    heads.projection.data = lab.model.lm_head_weight()[heads.token_map].to(heads.projection)


def of_another_base(heads, lab):
    order = torch.randperm(heads.config.hidden_size, generator=torch.Generator().manual_seed(0))
    heads.block_weight.data = heads.block_weight[..., order].contiguous()
    heads.projection.data = heads.projection[:, order].contiguous()


def of_other_text(heads, lab):
    """Heads that know the base model, but guess its text badly."""
    noise = torch.randn(heads.projection.shape, generator=torch.Generator().manual_seed(0))
    blurred = heads.projection.float() + 0.9 * heads.projection.float().std() * noise
    heads.projection.data = blurred.to(heads.projection.dtype)


def of_a_whole_vocabulary_each(heads, lab):
    """Heads of the paper's kind: a projection to all tokens for each of them."""
    lm_head = lab.model.lm_head_weight()
    rows = over_whole_vocabulary(heads.projection, heads.token_map, len(lm_head))
    heads.config = heads.config.model_copy(update={"kind": "own", "draft_vocab_size": None})
    heads.projection.data = rows.expand(heads.config.num_heads, *rows.shape).contiguous()
    heads.token_map = None


def with_heads(lab, spoil):
    heads = load_heads(ASSETS / "heads" / "default", lab.model)
    spoil(heads, lab)
    heads.pack()
    kept = lab.heads["medusa"]
    chosen = HeadSet(heads, "spoilt", kept.auto_trees, kept.fixed_trees)
    return Lab(lab.model, {"medusa": chosen})


def causes(lab, **settings):
    asked = {"max_new_tokens": 48, "tree": "auto"} | settings
    checkup = examine(lab, PROMPTS, decode_settings(**asked))
    return checkup, [finding.cause for finding in checkup.findings]


def beside(found, *causes):
    """The causes found but for those of this moment's times, since other work may run beside a
    test; `causes` stay."""
    timed = {"overhead", "heads-heavy", "tree-too-large", "tree-too-small"} - set(causes)
    return [cause for cause in found if cause not in timed]


def test_the_heads_that_ship_raise_no_alarm_about_themselves(lab):
    checkup, found = causes(lab)
    assert not BY_THE_HEADS & set(found)
    assert "precision-ties" not in found
    heads = checkup.heads
    assert (heads.num_heads, heads.kind, heads.differences) == (4, "draft_vocab", [])
    assert 0.02 < heads.parameter_share < 0.2
    assert heads.base_parameters == pytest.approx(134.5e6, rel=0.01)
    assert checkup.identical == checkup.prompts == 2
    terms = checkup.ledger.terms
    assert checkup.ledger.ideal + sum(term.change for term in terms) == pytest.approx(
        checkup.ledger.measured
    )


@pytest.mark.parametrize(
    ("spoil", "cause"),
    [
        (untrained, "heads-untrained"),
        (of_another_base, "heads-of-another-base"),
        (of_other_text, "foreign-text"),
    ],
)
def test_spoilt_heads_are_named_first(lab, spoil, cause):
    _, found = causes(with_heads(lab, spoil))
    assert beside(found, cause) == [cause]


@pytest.mark.parametrize(
    ("settings", "cause"),
    [
        ({"tree": "mc_sim_7b_63"}, "tree-too-large"),
        ({"temperature": 1.5}, "temperature-too-high"),
        ({"raw_prompt": True, "tree": "chain:2"}, "chat-template"),
    ],
)
def test_spoilt_settings_are_named_first(lab, settings, cause):
    _, found = causes(lab, **settings)
    assert beside(found, cause) == [cause]


def test_two_causes_at_once_are_ordered_by_what_they_cost(lab):
    checkup, found = causes(with_heads(lab, untrained), tree="mc_sim_7b_63")
    both = {"heads-untrained", "tree-too-large"}
    assert set(beside(found, *both)) == both
    costs = [finding.costs for finding in checkup.findings]
    assert costs == sorted(costs, reverse=True)


def test_projections_to_the_whole_vocabulary_are_too_heavy(lab):
    checkup, found = causes(with_heads(lab, of_a_whole_vocabulary_each), max_new_tokens=16)
    assert "heads-heavy" in found
    assert checkup.heads.byte_share > 1


def test_time_outside_the_model_is_named(lab, monkeypatch):
    cache = type(KVCache.of(lab.model))
    commit = cache.commit

    def slowly(self, rows):
        time.sleep(0.02)
        return commit(self, rows)

    monkeypatch.setattr(cache, "commit", slowly)
    _, found = causes(lab, max_new_tokens=24)
    assert found[0] == "overhead"


def test_texts_that_differ_from_plains_are_reported(lab, monkeypatch):
    logits = lab.model.logits

    def noisy(hidden):
        found = logits(hidden)
        return found if len(found) == 1 else found.roll(1, -1)

    monkeypatch.setattr(lab.model, "logits", noisy)
    checkup, found = causes(lab, max_new_tokens=24, tree="chain:2")
    assert checkup.identical < checkup.prompts
    assert "precision-ties" in found


def test_heads_that_were_never_trained_are_named_first_on_any_model():
    lab = tiny_lab()
    checkup = examine(lab, PROMPTS, decode_settings(method="medusa", max_new_tokens=24))
    assert checkup.findings[0].cause in ("heads-untrained", "tree-too-large")
    assert "heads-untrained" in {finding.cause for finding in checkup.findings}


def test_without_heads_there_is_nothing_to_examine():
    lab = tiny_lab()
    lab.heads = {}
    with pytest.raises(ExplorerError):
        examine(lab, PROMPTS, decode_settings(method="medusa"))
