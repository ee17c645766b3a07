"""What a drafter would have drafted anywhere is what it drafts where its own run stands."""

import threading

import pytest

from explorer.decoding.loop import StepResult
from explorer.decoding.tree import Tree
from explorer.measuring import who_knew as module
from explorer.measuring.who_knew import runnable, who_knew
from explorer.records.errors import ExplorerError
from explorer.records.settings import decode_settings
from tests.tiny_lab import tiny_lab

PROMPT = "ab ab ab ab"
METHODS = ["medusa", "prompt-lookup", "lookahead"]


@pytest.fixture(scope="module")
def lab():
    return tiny_lab(tree=Tree(((0,), (1,), (0, 0))))


@pytest.mark.parametrize("method", METHODS)
def test_positions_agree_with_the_methods_own_run(lab, method, monkeypatch):
    settings = decode_settings(method=method, max_new_tokens=32)
    kept = {}
    compare = module.compare_knowledge

    def keep(pieces, ahead, notes):
        kept.update(ahead)
        return compare(pieces, ahead, notes)

    monkeypatch.setattr(module, "compare_knowledge", keep)
    found = who_knew(lab, PROMPT, settings, [method])
    at = 0
    for item in lab.steps(lab.encode(PROMPT, settings), settings):
        if isinstance(item, StepResult):
            assert kept[method][at] == len(item.emitted) - 1
            at += len(item.emitted)
    assert at == len(found.tokens) == 32
    assert bool(found.notes) == (method == "lookahead")


def test_all_methods_of_a_lab_are_compared_and_sampling_is_refused(lab):
    found = who_knew(lab, PROMPT, decode_settings(max_new_tokens=12))
    assert {"medusa", "prompt-lookup", "lookahead", "draft-model"} == set(found.methods)
    assert found.router_tokens_per_step >= 1
    assert "router" in found.sentence
    with pytest.raises(ExplorerError, match="Only greedy text"):
        who_knew(lab, PROMPT, decode_settings(temperature=1.0))


def test_it_ends_where_it_is_cancelled(lab):
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(ExplorerError, match="stopped"):
        who_knew(lab, PROMPT, decode_settings(max_new_tokens=4), cancel=cancel)


def test_methods_without_their_heads_are_left_out(lab):
    assert runnable(lab, ["plain", "hydra", "medusa", "lookahead"]) == ["medusa", "lookahead"]
