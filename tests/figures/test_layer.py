"""Figures serve the page and notebooks alike: they know trace records and nothing else."""

import ast
from pathlib import Path

import pytest

import explorer.figures

FOLDER = Path(explorer.figures.__file__).parent


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_figures_import_only_trace_records(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("explorer"):
            assert node.module.startswith(("explorer.tracing", "explorer.figures")), node.module
