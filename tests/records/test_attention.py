"""The record of attention weights: packed and read back, and refused where it does not fit."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from explorer.records.attention import (
    MAX_CHARACTERS,
    MAX_VALUES,
    AttentionHead,
    AttentionQuestion,
    packed,
)
from explorer.records.errors import ExplorerError
from explorer.records.files import dump_trace, parse_trace
from explorer.records.schema import Trace
from tests.ui.fakes import FakeLab

DEPTHS = [0, 1, 1]
ROWS = [[0.2, 0.5, 0.3], [0.1, 0.4, 0.25, 0.25], [0.0, 0.0, 0.0, 1.0]]


def head(**changes: object) -> AttentionHead:
    values = {"step": 0, "layer": 3, "head": 1, "layers": 30, "heads": 9, "slots": [0]}
    return AttentionHead(**values | {"weights": packed(ROWS)} | changes)


def test_weights_are_read_as_they_were_packed():
    for message, row in zip(head().rows(DEPTHS), ROWS, strict=True):
        assert message == pytest.approx(row, abs=1e-5)
    assert head().rows(DEPTHS)[2][-1] == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"layer": 30}, "must be below"),
        ({"head": 9}, "must be below"),
        ({"slots": [0, 4, 4]}, "ascending"),
        ({"slots": [4]}, "first token must be a slot"),
        ({"slots": []}, "at least 1"),
        ({"slots": list(range(200))}, "128"),
        ({"weights": "<b>"}, "pattern"),
        ({"weights": "A" * (MAX_CHARACTERS + 4)}, "at most"),
        ({"step": -1}, "greater than or equal to 0"),
        ({"colour": "red"}, "not permitted"),
    ],
)
def test_a_record_that_cannot_be_is_refused(changes, message):
    with pytest.raises(ValidationError, match=message):
        head(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weights": packed(ROWS[:2])}, "do not fit its rows"),
        ({"weights": "AAAAA"}, "not base64"),
        ({"slots": [0, 30]}, "outside the prefix"),
    ],
)
def test_a_record_that_does_not_fit_its_step_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        head(**changes).require_fit(30, DEPTHS)


def test_the_largest_record_holds_as_many_values_as_are_allowed():
    assert len(packed([[1.0] * MAX_VALUES])) <= MAX_CHARACTERS


def carrying(*heads: AttentionHead) -> Trace:
    trace = FakeLab(shapes=(1,)).trace(max_new_tokens=20)
    return Trace.model_validate(trace.model_dump() | {"attention": [h.model_dump() for h in heads]})


def test_a_trace_carries_weights_through_a_file():
    rows = [[0.5, *[0.1] * (1 + depth), 0.0] for depth in (0, 1, 1, 2, 2, 2, 2)]
    trace = carrying(head(weights=packed(rows)))
    again = parse_trace(dump_trace(trace))
    assert again == trace
    assert again.attention[0].rows([0, 1, 1, 2, 2, 2, 2])[0][0] == pytest.approx(0.5, abs=1e-5)


def test_a_trace_whose_weights_fit_no_step_is_refused():
    with pytest.raises(ValidationError, match="do not fit its rows"):
        carrying(head())
    with pytest.raises(ValidationError, match="step 999, which is not there"):
        carrying(head(step=999))
    record = FakeLab(shapes=(1,)).trace(max_new_tokens=20).model_dump()
    assert Trace.model_validate(record | {"attention": []}).attention == []
    del record["attention"]  # as traces were before they carried any
    assert Trace.model_validate(record).attention == []


def test_a_file_with_wrong_weights_is_one_sentence():
    trace = FakeLab(shapes=(1,)).trace(max_new_tokens=20)
    broken = trace.model_copy(update={"attention": [head()]})
    with pytest.raises(ExplorerError, match="does not hold a valid trace"):
        parse_trace(dump_trace(broken))


@pytest.mark.parametrize(
    "changes",
    [
        {"parents": [-1, 1]},
        {"parents": [0, 0]},
        {"parents": [-1, -1]},
        {"parents": [-1]},
        {"prefix": []},
        {"prefix": [-1]},
        {"token_ids": [1] * 514, "parents": [-1] + [0] * 513},
        {"layer": -1},
        {"head": 99_999},
        {"model": "x" * 501},
    ],
)
def test_a_hostile_question_is_refused(changes):
    values = {"model": "m", "backend": "b", "step": 0, "prefix": [1]}
    values |= {"token_ids": [1, 2], "parents": [-1, 0]}
    assert AttentionQuestion(**values).depths == [0, 1]
    with pytest.raises(ValidationError):
        AttentionQuestion(**values | changes)
