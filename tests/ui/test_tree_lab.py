"""The Tree lab behind the browser: what each request changes."""

import json
from types import SimpleNamespace

import gradio as gr
import pytest

from explorer.analysis.cost_file import shipped_costs
from explorer.analysis.tree_lab import BudgetCurve
from explorer.ui.tree_handlers import TreeHandlers, _best
from explorer.ui.tree_sources import PASTED, machines, recorded_runs, sources
from explorer.ui.worker import ModelWorker

EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def lab():
    with gr.Blocks():
        return TreeHandlers(ModelWorker(lambda progress: None))


def asked(tree="", source=None, machine=None, batch=1, context=128, pasted=""):
    machine = machine or next(name for name in machines() if name.startswith("bf16"))
    return (source or next(iter(recorded_runs())), machine, batch, context, pasted, tree)


def names(update):
    return {component.elem_id for component in update}


def test_a_tree_fills_every_figure(lab):
    update = lab.show(*asked("[[0],[1],[0,0]]"))
    page = lab.page
    assert set(update) == set(page.shown)
    assert "estimate" in update[page.summary]
    assert "Use in Explore" in update[page.summary]
    assert update[page.picture].count('data-does="remove"') == 3
    written = json.loads(update[page.buffers])
    assert written["medusa_choices"] == [[0], [1], [0, 0]]
    assert written["tree_indices"] == [0, 1, 2, 11]
    assert written["retrieve_indices"] == [[0, 1, 3], [0, 2, -1]]
    assert [bar.x for bar in update[page.bars].data]


def test_the_best_tree_is_the_optimum_of_the_budget_curve(lab):
    update = lab.name("best for these texts and this machine", *asked())
    tree = json.loads(update[lab.page.tree])
    line = next(trace for trace in update[lab.page.budget].data if trace.name == "greedy tree")
    assert max(line.y) == line.y[len(tree) - 1]


def test_another_machine_changes_the_estimate_and_not_the_replay(lab):
    def facts(machine, **more):
        return lab.show(*asked("chain:3", machine=machine, **more))[lab.page.summary]

    summaries = [facts(machine) for machine in machines()]
    replayed = {
        text.split("tokens per step, replayed")[0].rsplit("<b>", 1)[1] for text in summaries
    }
    assert len(replayed) == 1
    assert len(set(summaries)) == len(machines())
    pasted = next(iter(shipped_costs().values())).model_copy(update={"device": EVIL})
    text = facts(PASTED, pasted=pasted.model_dump_json())
    assert EVIL not in text
    assert "&lt;script&gt;" in text


def test_a_click_adds_a_node_and_a_second_one_removes_it_with_what_hangs_from_it(lab):
    def click(path, tree):
        event = SimpleNamespace(_data={"node": path})
        return json.loads(lab.click(event, *asked(json.dumps(tree)))[lab.page.tree])

    assert click("1", [[0], [0, 0]]) == [[0], [1], [0, 0]]
    assert click("0", [[0], [1], [0, 0]]) == [[1]]


def test_growing_shows_one_node_more_each_time(lab, monkeypatch):
    monkeypatch.setattr("explorer.ui.tree_handlers.BEAT", 0)
    sizes = [len(json.loads(update[lab.page.tree])) for update in lab.grow(*asked())]
    assert sizes == list(range(1, len(sizes) + 1))
    assert len(sizes) >= 8


def test_widths_that_explode_are_counted_and_refused(lab):
    update = lab.widen("8, 8, 8, 8", *asked())
    assert list(update) == [lab.page.summary]
    assert "4,096 paths and 4,680 nodes" in update[lab.page.summary]
    assert len(json.loads(lab.widen("3,2", *asked())[lab.page.tree])) == 9


@pytest.mark.parametrize("widths", ["-1", "0", "3,-2", "0, 5"])
def test_widths_below_one_are_refused_as_such(lab, widths):
    update = lab.widen(widths, *asked())
    assert list(update) == [lab.page.summary]
    assert "Every width of a Cartesian tree must be at least 1." in update[lab.page.summary]


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        (f"[[{10**30}]]", "no vocabulary has so many tokens"),
        (EVIL, "There is no tree"),
        ("chain:9", "9 deep"),
        ("[[0, 1]]", "not its parent"),
    ],
)
def test_what_is_no_tree_is_a_sentence_and_text(lab, tree, said):
    update = lab.show(*asked(tree))
    assert list(update) == [lab.page.summary]
    assert said in update[lab.page.summary]
    assert "<script>" not in update[lab.page.summary]


def test_hostile_requests_are_sentences(lab):
    for event in ({}, {"node": None}, {"node": EVIL}, [], None):
        update = lab.click(SimpleNamespace(_data=event), *asked("chain:2"))
        assert list(update) == [lab.page.summary]
    for where in ({"source": "none"}, {"machine": "none"}, {"batch": 3}, {"machine": PASTED}):
        assert list(lab.show(*asked("chain:2", **where))) == [lab.page.summary]
    for where in ({"batch": None}, {"context": None}, {"batch": []}, {"context": float("inf")}):
        for ask in (lab.show, lab.opened):
            assert "choose one." in ask(*asked("chain:2", **where))[lab.page.summary]
        assert "choose one." in next(lab.grow(*asked(**where)))[lab.page.summary]
    assert "choose one." in lab.trim(None, *asked())[lab.page.summary]
    assert "Write the width" in lab.widen(None, *asked())[lab.page.summary]


def test_texts_of_heads_that_ship_and_recorded_runs_can_be_chosen():
    assert any("held-out" in name for name in sources())
    assert all(source.positions for source in sources().values())


def test_the_advice_counts_what_does_not_pay_and_names_trees_as_good(lab):
    def advice(tree):
        return lab.show(*asked(tree))[lab.page.summary]

    assert "Every node pays for its row here." in advice("[[0]]")
    assert "cost more time than they save here (pale)" in advice("cartesian:3,3,3")
    near = BudgetCurve(
        order=[[0], [1], [0, 0]], tokens_per_step=[1.5, 1.6, 1.7], speedups=[1.15, 1.09, 1.16]
    )
    assert "With 1 node the estimate is less than 0.02× lower" in _best(near)
    alone = near.model_copy(update={"speedups": [1.0, 1.09, 1.16]})
    assert "lower" not in _best(alone)
