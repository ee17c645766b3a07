"""Figures know records and what follows from them by arithmetic, nothing else of the product."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import explorer.figures

FOLDER = Path(explorer.figures.__file__).parent
ALLOWED = ("explorer.records", "explorer.figures", "explorer.analysis")


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_figures_import_only_records_and_analysis(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("explorer"):
            assert node.module.startswith(ALLOWED), node.module


def test_traces_and_numbers_need_neither_plotly_nor_pandas():
    code = (
        "import sys, explorer.records.numbers, explorer.records.files\n"
        "print({'plotly', 'pandas', 'numpy', 'torch'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
