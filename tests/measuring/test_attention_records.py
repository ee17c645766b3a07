"""What is sent of a step's attention weights: the asked head first, in a bounded message."""

from __future__ import annotations

import pytest
import torch

from explorer.analysis.tree_names import cartesian
from explorer.decoding.tree import chain
from explorer.measuring.attention_records import answer, question_of, telling_slots, weights_of_step
from explorer.records.attention import MAX_CHARACTERS, AttentionQuestion
from explorer.records.errors import ExplorerError
from explorer.records.events import collect
from explorer.records.settings import DecodeSettings
from tests.tiny_lab import VOCAB, tiny_lab

PROMPT = "What is a heap? " * 8  # longer than the slots that are listed one by one


@pytest.fixture(scope="module")
def lab():
    return tiny_lab(tree=cartesian([2, 2]))


@pytest.fixture(scope="module")
def trace(lab):
    return collect(lab.decode(PROMPT, DecodeSettings(max_new_tokens=12)))


def question(prefix_length: int = 20, parents: tuple[int, ...] = (-1, 0, 0, 1), **changes: object):
    values = {
        "model": "tiny",
        "backend": "fp32",
        "step": 0,
        "prefix": [i % VOCAB for i in range(prefix_length)],
        "token_ids": [5] * len(parents),
        "parents": parents,
    }
    return AttentionQuestion(**values | changes)


def test_a_record_holds_the_weights_of_its_head(lab, trace):
    whole = torch.as_tensor(weights_of_step(lab.model, trace, 1, 1))
    records = answer(lab.model, question_of(trace, 1, layer=1, head=1))
    assert [(r.layer, r.head, r.layers, r.heads) for r in records] == [(1, 1, 2, 2), (1, 0, 2, 2)]
    step = trace.steps[1]
    shape, prefix = trace.trees[step.tree], step.context_length
    for record in records:
        found = record.rows(shape.depths)
        weights = whole[record.head]
        assert len(record.slots) < prefix
        for row, (rest, *values) in enumerate(found):
            assert rest + sum(values) == pytest.approx(1, abs=2e-3)
            slots = weights[row, record.slots].tolist()
            line = [row]
            while (above := shape.parents[line[0]]) >= 0:
                line.insert(0, above)
            path = weights[row, [prefix + i for i in line]].tolist()
            assert values == pytest.approx([*slots, *path], abs=1e-5)


def test_the_message_is_bounded_however_large_the_tree(lab):
    tree = cartesian([8, 7, 7])
    records = answer(lab.model, question(300, tuple(tree.parents.tolist())))
    assert records
    assert sum(len(record.weights) for record in records) <= MAX_CHARACTERS
    with pytest.raises(ExplorerError, match="too large for a picture"):
        answer(lab.model, question(20, tuple(chain(400).parents.tolist())))


def test_slots_listed_one_by_one_are_the_first_the_heaviest_and_the_last():
    weights = torch.zeros(2, 303)
    weights[1, 150], weights[0, 160] = 0.6, 0.3
    slots = telling_slots(weights, 300, most=128)
    assert slots[:4] == [0, 1, 2, 3]
    assert {150, 160} <= set(slots)
    assert slots[-64:] == list(range(236, 300))
    assert len(telling_slots(weights, 300, most=20)) <= 20
    assert telling_slots(weights, 50, most=128) == list(range(50))


def test_the_question_of_a_step_holds_the_tokens_before_it(lab, trace):
    asked = question_of(trace, 2)
    emitted = [token for step in trace.steps[:2] for token in step.emitted]
    assert asked.prefix == trace.header.prompt_ids + emitted
    assert len(asked.prefix) == trace.steps[2].context_length
    assert question_of(trace, 2 - len(trace.steps)) == asked


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"model": "another"}, r"made with another \(fp32\), but tiny \(fp32\) is loaded"),
        ({"backend": "int4"}, "load that model"),
        ({"layer": 2}, "layers 0 to 1"),
        ({"head": 2}, "heads 0 to 1"),
        ({"token_ids": [VOCAB] * 4}, "vocabulary"),
        ({"prefix": [1] * 512}, "1 to 511 tokens"),
    ],
)
def test_what_cannot_be_answered_is_one_sentence(lab, changes, sentence):
    with pytest.raises(ExplorerError, match=sentence):
        answer(lab.model, question(**changes))


def test_a_step_without_a_pass_has_no_weights(trace):
    with pytest.raises(ExplorerError, match="no verify pass"):
        question_of(trace, len(trace.steps) - 1)
    with pytest.raises(ExplorerError, match="The trace has the steps"):
        question_of(trace, len(trace.steps))
