"""The chapter on trees: counts as the formulas give them, and the step that it tells of."""

import pytest

from explorer.learn import tree
from explorer.records.rank_paths import cartesian_counts, cartesian_paths
from tests.node import ask_module


def test_the_counts_that_papers_and_tutorials_give():
    said = tree.numbers()
    assert (said["paths_8"], said["nodes_8"]) == (4096, 4680)
    assert (said["paths_221"], said["nodes_221"]) == (4, 10)


def test_the_telling_step_leaves_the_first_guesses():
    said, step = tree.numbers(), tree.telling_step()
    assert said["tree"] == len(step.emitted)
    assert said["chain"] < said["tree"]
    assert said["chain_rate"] < said["tree_rate"]
    asked = tree.data()["question"]
    assert asked["options"][asked["right"]] == str(said["chain"])


@pytest.mark.parametrize("widths", [[2, 2, 1], [4, 3, 1], [8, 8, 8, 8], [5], [1, 1, 1]])
def test_the_page_counts_the_same(widths):
    shown = ask_module(
        "learn/formulas.js", "[module.pathCount(given), module.nodeCount(given)]", widths
    )
    assert tuple(shown) == cartesian_counts(widths)


def test_the_page_names_the_same_paths():
    shown = ask_module("learn/tree_count.js", "module.pathsOf(given)", [2, 2, 1])
    assert sorted(map(tuple, shown)) == sorted(cartesian_paths([2, 2, 1]))
