"""The chapter on heads: parameters as the formulas give them, and the page's count of them."""

import pytest

from explorer.analysis.formulas import head_parameters
from explorer.learn import heads
from tests.node import ask_module


def test_parameters_of_heads_of_well_known_models():
    said = heads.numbers()
    assert said["one"] == 4096 * 4096 + 4096 + 32000 * 4096
    assert round(said["one"] / 1e6) == 148
    assert round(said["five"] / 1e6) == 739
    assert said["five_share"] == pytest.approx(0.11, abs=0.001)
    assert said["five_bytes"] > 1 / 3
    assert round(said["shared"] / 1e6) == 17


def test_the_shipped_heads_have_as_many_parameters_as_the_formula_says():
    assert heads.own_parameters() == heads.checked()["heads"]["parameters"]


@pytest.mark.parametrize("case", [(4096, 5, 1, 5 * 32000), (576, 4, 3, 10240), (8192, 1, 2, 0)])
def test_the_page_counts_the_same(case):
    shown = ask_module("learn/formulas.js", "module.headParameters(...given)", case)
    assert shown == head_parameters(*case)


def test_the_question_has_one_right_answer():
    asked = heads.data()["question"]
    assert len(set(asked["options"])) == len(asked["options"])
    assert asked["options"] == sorted(asked["options"], key=int)
    assert asked["why"].startswith(asked["options"][asked["right"]])
