"""`replay`: count what other trees would have accepted in recorded runs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from explorer.commands.console import Console, number, table
from explorer.records.errors import ExplorerError
from explorer.records.files import read_trace

EXAMPLE = (
    "python -m explorer replay --trace assets/traces/code.json.gz assets/traces/json.json.gz "
    "--tree best:8 dynamic:8 chain:3"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command only."""
    parser.add_argument(
        "--trace", required=True, nargs="+", metavar="FILE", help="runs saved as .json.gz"
    )
    parser.add_argument(
        "--tree",
        required=True,
        nargs="+",
        metavar="TREE",
        help="chain:3, cartesian:3,2,1, dynamic:8, rank paths like [[0],[0,0]], or best:8, the "
        "fixed tree of 8 nodes that is best on the other traces",
    )


def execute(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Replay. No model is loaded, and nothing is decoded."""
    from explorer.analysis.replay import replay

    names = [Path(path).name for path in args.trace]
    if len(set(names)) < len(names):
        names = args.trace
    if len(set(names)) < len(names):
        raise ExplorerError("--trace names the same file twice: name every trace once.")
    traces = {name: read_trace(path) for name, path in zip(names, args.trace, strict=True)}
    return replay(traces, args.tree).model_dump(mode="json")


def render(result: dict[str, Any]) -> str:
    """A row for each tree, and the result of the runs themselves."""
    names = list(result["recorded"])
    rows = [
        (
            found["tree"],
            str(found["nodes"]),
            number(found["tokens_per_step"], 3),
            *(number(found["by_trace"][name]) for name in names),
        )
        for found in result["trees"]
    ]
    rows.append(("as recorded", "", "", *(number(result["recorded"][name]) for name in names)))
    return (
        f"{table(('tree', 'nodes', 'tokens/step', *names), rows)}\n\n"
        f"Replayed on {result['positions']} positions of {result['traces']} traces; nothing was "
        "decoded."
    )
