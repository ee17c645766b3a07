"""Planted faults on the tiny model: each breaks what it says, and the checks see what they can."""

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
import torch

from explorer.decoding.acceptance import Greedy
from explorer.decoding.drafter import Draft
from explorer.decoding.sampling import Draws
from explorer.decoding.tree import Tree
from explorer.measuring import planted_faults
from explorer.measuring.fault_checks import Written, bit_check, chi_check
from explorer.measuring.planted_faults import ByToken, NoResidual, OwnRow, run_with_fault
from explorer.records.errors import ExplorerError
from explorer.records.faults import SOUND
from explorer.records.settings import decode_settings
from tests.tiny_lab import VOCAB, tiny_lab

if TYPE_CHECKING:
    from explorer.models.base import LanguageModel

SAMPLED = decode_settings(method="plain", acceptance="sample", temperature=1.0, max_new_tokens=40)
SHORT = 14  # tokens


@pytest.fixture(scope="module")
def lab():
    lab = tiny_lab()
    lab.model.bit_exact = True  # its products are row-wise
    return lab


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(planted_faults, "SEEDS", 1)
    monkeypatch.setattr(planted_faults, "MORE_SEEDS", 1)
    monkeypatch.setattr(planted_faults, "TOKENS", SHORT)


def test_without_a_fault_no_check_says_anything(lab):
    report = run_with_fault(lab, SOUND)
    assert report.caught_by == []
    assert (report.bits.differing, report.audit.first) == (0, None)
    assert report.plain == report.text
    assert len(report.text) == SHORT


@pytest.mark.parametrize("fault", ["siblings", "positions", "stale-cache"])
def test_a_faulty_pass_or_cache_changes_bits(lab, fault):
    report = run_with_fault(lab, fault)
    assert "bits" in report.caught_by
    assert 0 < report.bits.differing <= report.bits.rows


def test_a_model_whose_rows_are_not_bit_exact_has_no_such_check():
    model = cast("LanguageModel", SimpleNamespace(bit_exact=False))
    assert bit_check(model, Written([1], [2], 1, {}, {})) is None


def test_an_unknown_fault_is_refused(lab):
    with pytest.raises(ExplorerError, match="siblings"):
        run_with_fault(lab, "nothing")


# Rows: root 5; 7 and 8 below it; 7 below the 8.
DRAFT = Draft(Tree(((0,), (1,), (1, 0))), torch.tensor([5, 7, 8, 7]), torch.ones(4))


def logits(*choices):
    return torch.nn.functional.one_hot(torch.tensor(choices), 16).float()


def test_a_node_found_by_its_token_may_lie_under_another_parent():
    wanted = logits(7, 9, 10, 11)
    assert Greedy().judge(DRAFT, wanted, 0).path == [0, 1]
    verdict = ByToken(Greedy()).judge(DRAFT, wanted, 0)
    assert (verdict.path, verdict.bonus) == ([0, 3], 11)


def test_a_node_that_judges_itself_is_taken_for_repeating_itself():
    wanted = logits(8, 9, 8, 9)
    assert Greedy().judge(DRAFT, wanted, 0).path == [0, 2]
    assert OwnRow(Greedy()).judge(DRAFT, logits(8, 9, 10, 7), 0).path == [0]
    assert OwnRow(Greedy()).judge(DRAFT, logits(9, 9, 8, 9), 0).path == [0, 2]


def test_without_the_residual_the_rest_is_p_itself():
    p, q = torch.tensor([0.5, 0.5, 0.0]), torch.tensor([0.0, 0.1, 0.9])
    settings = decode_settings(method="medusa", acceptance="sample", temperature=1.0)
    tried, rest = NoResidual(settings, Draws(0, 8))._try([(1, 2)], p, q, 3)
    assert not tried[0].accepted
    assert torch.equal(rest, p)


def test_the_distribution_check_distinguishes_samples_from_choices(lab):
    prompt = lab.encode("abc", SAMPLED)
    drawn = [
        Written.by(lab.steps(prompt, SAMPLED.model_copy(update={"seed": seed})), prompt)
        for seed in range(3)
    ]
    found = chi_check(lab.model, drawn, SAMPLED)
    assert found.tokens == sum(found.counts) == 120
    assert found.p_value > 0.001
    chosen = SAMPLED.model_copy(update={"temperature": 0.0, "acceptance": "greedy"})
    text = Written.by(lab.steps(prompt, chosen), prompt)
    assert chi_check(lab.model, [text] * 3, SAMPLED).p_value < 1e-6
    assert max(text.tokens) < VOCAB
