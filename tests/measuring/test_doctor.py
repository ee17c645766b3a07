"""The doctor on real runs: the default model with its heads as they ship, and with spoilt ones."""

import pytest
import torch

from explorer.heads.checkpoints import load_heads
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
    monkeypatch.setattr(doctor, "WIDTHS", (2, 4, 8))
    monkeypatch.setattr(doctor, "ROUNDS", 1)


def untrained(heads, lab):
    heads.block_weight.data.zero_()
    heads.block_bias.data.zero_()
    heads.projection.data = lab.model.lm_head_weight()[heads.token_map].to(heads.projection)


def of_another_base(heads, lab):
    order = torch.randperm(heads.config.hidden_size, generator=torch.Generator().manual_seed(0))
    heads.block_weight.data = heads.block_weight[..., order].contiguous()
    heads.projection.data = heads.projection[:, order].contiguous()


def with_heads(lab, spoil):
    heads = load_heads(ASSETS / "heads" / "default", lab.model)
    spoil(heads, lab)
    heads.pack()
    kept = lab.heads["medusa"]
    chosen = HeadSet(heads, "spoilt", kept.auto_trees, kept.fixed_trees)
    return Lab(lab.model, {"medusa": chosen})


def causes(lab, **settings):
    asked = {"max_new_tokens": 48, "tree": "chain:2"} | settings
    checkup = examine(lab, PROMPTS, decode_settings(**asked))
    return checkup, [finding.cause for finding in checkup.findings]


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
    ("spoil", "cause"), [(untrained, "heads-untrained"), (of_another_base, "heads-of-another-base")]
)
def test_spoilt_heads_are_named(lab, spoil, cause):
    _, found = causes(with_heads(lab, spoil))
    assert [each for each in found if each in BY_THE_HEADS] == [cause]


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
