"""Runs a notebook's cells again and stores what they show: `python tools/run_example.py FILE`.

Needs no Jupyter. A figure is stored twice: as data, for a notebook where it is interactive, and as
an image, for sites that show notebooks without running scripts.
"""

from __future__ import annotations

import ast
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
from playwright.sync_api import Page, sync_playwright
from plotly.offline import get_plotlyjs

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tools.browsers import chromium  # noqa: E402

WIDTH = 760
TO_IMAGE = """([figure, width]) => Plotly.toImage(figure,
    { format: 'png', width, height: figure.layout.height ?? 400, scale: 1.5 })"""


def main(path: Path) -> None:
    """Run every cell in one folder of its own; the notebook is written when all went well."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    shown, names = [], {}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for cell in cells:
            shown.append(run("".join(cell["source"]), names))
            print(f"cell {len(shown)} of {len(cells)}", file=sys.stderr, flush=True)
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.name == "posix" and os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=chromium(), args=arguments)
        page = browser.new_page()
        page.add_script_tag(content=get_plotlyjs())
        for number, (cell, value) in enumerate(zip(cells, shown, strict=True), 1):
            cell["execution_count"] = number
            cell["outputs"] = [] if value is None else [output(value, number, page)]
        browser.close()
    path.write_text(json.dumps(notebook, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def run(source: str, names: dict[str, Any]) -> object:
    """Run a cell; the value of the expression that it ends with, else None."""
    tree = ast.parse(source)
    end = tree.body[-1]
    last = end if isinstance(end, ast.Expr) else None
    if last is not None:
        tree.body.pop()
    exec(compile(tree, "cell", "exec"), names)
    return (
        None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    )


def output(value: Any, number: int, page: Page) -> dict:
    """What a notebook keeps of a value that a cell shows."""
    data = {"text/plain": repr(value)}
    if isinstance(value, go.Figure):
        figure = json.loads(str(value.to_json()))
        url = page.evaluate(TO_IMAGE, [figure, WIDTH])
        image = url.removeprefix("data:image/png;base64,")
        data = {"text/plain": "Figure", "image/png": image}
        data["application/vnd.plotly.v1+json"] = figure
    elif hasattr(value, "_repr_html_"):
        data["text/html"] = value._repr_html_()
    return {
        "output_type": "execute_result",
        "execution_count": number,
        "metadata": {},
        "data": data,
    }


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]).resolve())
