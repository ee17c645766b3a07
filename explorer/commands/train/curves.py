"""`train curves`: a picture of the log of a training run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from explorer.commands.console import Console
from explorer.records.errors import ExplorerError

EXAMPLE = "python -m explorer train curves --log heads/training.jsonl --out curves.svg"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command only."""
    parser.add_argument(
        "--log", required=True, metavar="FILE", help="the training.jsonl beside the trained files"
    )
    parser.add_argument("--out", required=True, metavar="FILE.svg", help="the picture")
    parser.add_argument(
        "--title", default="", metavar="TEXT", help="alternative text of the picture"
    )


def execute(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Draw. No model is loaded."""
    from explorer.figures.curves import training_curves
    from explorer.training.log import read_log

    log = read_log(args.log)
    try:
        Path(args.out).write_text(training_curves(log, args.title), encoding="utf-8")
    except OSError as error:
        raise ExplorerError(f"Cannot write {args.out}: {error.strerror or error}.") from error
    updates = max((line["update"] for line in log), default=0)
    return {"out": args.out, "lines": len(log), "updates": updates}


def render(result: dict[str, Any]) -> str:
    """The path of the picture."""
    return f"{result['updates']} updates, drawn in {result['out']}."
