"""The example notebook: its cells run as written, and it is stored as a clean run left it."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import explorer
from explorer.records.errors import ExplorerError
from tests.tiny_lab import tiny_lab

EXAMPLE = Path(explorer.__file__).parents[1] / "docs" / "example.ipynb"
MAX_BYTES = 400_000


@pytest.fixture(scope="module")
def code() -> list[dict]:
    cells = json.loads(EXAMPLE.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def source(cell: dict) -> str:
    return "".join(cell["source"])


def test_the_cells_run_as_written(code, monkeypatch, tmp_path):
    lab = tiny_lab()
    monkeypatch.setattr(explorer, "load", lambda: lab, raising=False)
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for cell in code:
        exec(source(cell), names)
    assert names["again"] == names["trace"]
    assert len(names["figures"]) == len(names["trees"])
    assert isinstance(names["taken"], pd.DataFrame)
    with pytest.raises(ExplorerError):
        names["raced"]("chain:99")


def test_it_is_stored_with_the_outputs_of_one_clean_run(code):
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell["outputs"]]
    assert {output["output_type"] for output in outputs} <= {"execute_result", "display_data"}
    assert EXAMPLE.stat().st_size < MAX_BYTES


def test_its_figures_show_where_no_script_runs(code):
    """A site that renders notebooks shows the image; Jupyter the interactive figure."""
    figures = [cell for cell in code if ".figure_" in source(cell)]
    assert len(figures) >= 3
    for cell in figures:
        kinds = {kind for output in cell["outputs"] for kind in output["data"]}
        assert {"image/png", "application/vnd.plotly.v1+json"} <= kinds, source(cell)
