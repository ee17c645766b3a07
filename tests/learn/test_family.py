"""The family: every member has every row, and measured cells say where and when."""

import pytest

from explorer.learn.family import ROWS, data, measured
from explorer.learn.kin import KIN
from explorer.learn.sources import SOURCES
from explorer.records.methods import METHODS


@pytest.mark.parametrize("kin", KIN, ids=lambda kin: kin.key)
def test_a_member_has_every_row_and_known_sources(kin):
    assert all(getattr(kin, key) for key, _ in ROWS)
    assert set(kin.cited) <= set(SOURCES)
    assert kin.cited or kin.key == "plain"
    assert kin.method is None or kin.method in METHODS


def test_every_method_of_the_product_is_a_member_with_measured_cells():
    assert {kin.method for kin in KIN} - {None} == set(METHODS)
    for method in set(METHODS) - {"plain"}:
        assert "tokens/s" in measured(method)["published"]
        assert "2026" in measured(method)["published"]


def test_the_question_has_one_answer():
    asked = data()["question"]
    assert asked["options"][asked["right"]] == "N-gram and suffix"
