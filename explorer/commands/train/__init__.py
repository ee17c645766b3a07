"""`train`: heads and draft models, from a base model and text that it wrote itself."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from explorer.commands.console import Console
from explorer.commands.subcommands import add_commands

EXAMPLE = "python -m explorer train heads --data selfdistill.jsonl.gz --out heads --num-heads 4"
SUBCOMMANDS = {
    "data": "let the base model write the text that everything else is trained on",
    "heads": "train Medusa heads on the frozen base model (Medusa-1)",
    "joint": "train heads together with the base model, through a LoRA adapter (Medusa-2)",
    "draft": "distil a small draft model",
    "curves": "draw the log of a training run",
}


def add_subcommands(parser: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    """A parser for each; only the one that `argv` names gets its options, so --help is quick."""
    subcommands = parser.add_subparsers(
        dest="what", metavar="WHAT", required=True, parser_class=type(parser)
    )
    add_commands(subcommands, SUBCOMMANDS, subcommand_module, argv)


def execute(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Run the subcommand, with the losses on stderr."""
    return {"what": args.what, **subcommand_module(args.what).execute(args, console)}


def render(result: dict[str, Any]) -> str:
    """The figures of the training run."""
    return subcommand_module(result["what"]).render(result)


def subcommand_module(name: str) -> ModuleType:
    """The module that runs a subcommand."""
    return importlib.import_module(f"explorer.commands.train.{name}")
