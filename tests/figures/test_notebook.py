"""What a trace does for its user in Python, from `load` to the table."""

import re
from pathlib import Path

import pandas as pd
import plotly.graph_objects as go
import pytest

import explorer
from explorer.analysis.speedup import with_figures
from explorer.figures.mask import mask_figure
from explorer.figures.notebook import attach
from explorer.figures.tree import tree_figure
from explorer.figures.view import step_view
from explorer.records.errors import ExplorerError
from tests.ui.fakes import FakeLab

DOCUMENT = Path(explorer.__file__).parents[1] / "docs" / "notebook.md"


@pytest.fixture(scope="module")
def trace():
    attach()
    return FakeLab().trace(max_new_tokens=40)


@pytest.fixture(scope="module")
def lab():
    from tests.tiny_lab import tiny_lab

    return tiny_lab()


def test_saved_and_opened_by_path_or_name(trace, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    path = trace.save("~/run.json.gz")
    assert path == tmp_path / "run.json.gz"
    assert explorer.Trace.open("~/run.json.gz") == explorer.Trace.open(path) == with_figures(trace)
    with pytest.raises(ExplorerError, match="Cannot read"):
        explorer.Trace.open("~/none.json.gz")


def test_figures_are_those_of_the_step(trace):
    for index in (0, 2, -1):
        view = step_view(trace, index)
        assert trace.figure_tree(index) == tree_figure(view)
        assert trace.figure_mask(index) == mask_figure(view)
    assert trace.figure_tree(0, selected=1) == tree_figure(step_view(trace, 0), 1)
    assert trace.figure_tree(0) != trace.figure_tree(1)
    with pytest.raises(ExplorerError, match="There is no step 999"):
        trace.figure_mask(999)


def test_the_race_is_that_of_the_method(trace):
    assert [lane.name.split(":")[0] for lane in trace.figure_race().data] == ["medusa", "plain"]


def test_the_last_step_can_be_marked(trace):
    last = len(trace.steps) - 1
    band = trace.figure_lengths(-1).layout.shapes[0]
    assert band.x0 < last < band.x1


def test_tables_per_node_and_per_step(trace):
    assert len(trace.to_dataframe()) == sum(len(step.token_ids) for step in trace.steps)
    assert len(trace.to_dataframe("step")) == len(trace.steps)
    with pytest.raises(ExplorerError, match="choose 'node' or 'step'"):
        trace.to_dataframe("steps")


def test_a_trace_prints_as_a_line(trace):
    """A notebook makes the plain text, too, and saves it: not a megabyte of records."""
    for text in (repr(trace), str(trace)):
        assert text == (
            f"Trace('medusa', 'What is a binary search?', {len(trace.steps)} steps, 40 tokens)"
        )
    header = trace.header.model_copy(update={"prompt": "x\n" * 10_000})
    assert len(repr(trace.model_copy(update={"header": header}))) < 150


def test_a_run_is_what_the_events_add_up_to(lab):
    trace = lab.run("abc", max_new_tokens=7, seed=3)
    assert len(trace.new_token_ids) == 7
    assert trace.rival is None
    settings = trace.header.settings
    assert (settings.method, settings.max_new_tokens, settings.seed) == ("medusa", 7, 3)
    again = lab.run("abc", max_new_tokens=7, seed=3, method="plain")
    assert again.header.settings.method == "plain"
    assert again.new_token_ids == trace.new_token_ids


def test_a_race_holds_both_lanes(lab):
    trace = lab.run_race("abc", max_new_tokens=7)
    assert trace.rival.new_token_ids == trace.new_token_ids
    assert "Both lanes wrote the same tokens." in trace._repr_html_()


def test_without_heads_a_run_is_plain(lab, monkeypatch):
    monkeypatch.setattr(lab, "heads", {})
    assert lab.run("abc", max_new_tokens=3).header.settings.method == "plain"


def test_bad_settings_are_one_sentence_also_in_a_notebook(lab):
    with pytest.raises(ExplorerError, match="temperature") as error:
        lab.run("abc", temperature=-1)
    assert error.value._render_traceback_() == [f"ExplorerError: {error.value}"]
    with pytest.raises(ExplorerError, match="max_tokens"):
        lab.run("abc", max_tokens=3)


def test_the_document_runs_as_written(lab, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(explorer, "load", lambda: lab, raising=False)
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    names: dict = {}
    for block in blocks:
        exec(block, names)
    assert len(blocks) >= 6
    assert names["again"] == names["trace"]
    assert isinstance(names["nodes"], pd.DataFrame)
    assert isinstance(names["race"].figure_race(), go.Figure)
    assert "tokens" in capsys.readouterr().out
