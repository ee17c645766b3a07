"""The best tree: what the page draws is the search of the product itself."""

import pytest

from explorer.analysis.cost_file import shipped_costs
from explorer.analysis.tree_search import best_tree
from explorer.learn.best_tree import data, machines, nodes, numbers, predicted, totals
from tests.node import ask_module


def test_machines_stop_where_the_search_stops():
    for one in machines()[:-1]:
        overhead = shipped_costs()[one["key"]].overhead()
        choice = best_tree(nodes(), lambda n, c=one["cost"]: c[n - 1], lambda depth, o=overhead: o)
        assert choice is not None
        assert one["best"] == len(choice.paths)
        assert one["most"] == pytest.approx(choice.expected_speedup)


def test_where_rows_are_free_every_node_pays():
    free = machines()[-1]
    assert free["best"] == len(nodes()) == 64
    assert free["most"] == pytest.approx(1 + totals()[-1])


def test_values_fall_and_parents_come_first():
    values = [one.success for one in nodes()]
    assert values == sorted(values, reverse=True)
    seen: set[tuple[int, ...]] = {()}
    for one in nodes():
        assert one.path[:-1] in seen
        seen.add(one.path)


def test_the_picture_has_every_node_below_its_parent():
    paths = [list(one.path) for one in nodes()]
    shape = ask_module("learn/growing.js", "module.grown(given)", paths)
    for row, path in enumerate(paths, start=1):
        assert shape["depths"][row] == len(path)
        parent = shape["parents"][row]
        assert (paths[parent - 1] if parent else []) == path[:-1]


def test_the_question_asks_for_the_fourth_node():
    asked = data()["question"]
    assert asked["options"][asked["right"]] == "·".join(str(r + 1) for r in nodes()[3].path)


def test_a_real_run_accepts_less_than_counted_and_about_the_product():
    for size in (3, 8):
        found = predicted(size)
        assert found["replayed"] < found["counted"]
        assert found["replayed"] == pytest.approx(found["product"], rel=0.03)
        assert found["counted"] == pytest.approx(1 + totals()[size - 1])
        assert found["product"] == pytest.approx(1 + data()["product"][size - 1])


def test_the_sizes_near_the_best_are_named():
    close = numbers()["close"]
    assert close["size"] > close["machine"]["best"]
    assert 0.98 * close["machine"]["most"] <= close["speedup"] <= close["machine"]["most"]
