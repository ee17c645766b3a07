"""`overlap`: which method would have drafted each token of a text first."""

from __future__ import annotations

import argparse
from typing import Any

from explorer.commands.console import Console, number, table
from explorer.commands.options import (
    add_decode_options,
    load_lab,
    method_list,
    prompt_from,
    settings_from,
)

EXAMPLE = 'python -m explorer overlap "Write a JSON list of three books." --json'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command only."""
    parser.add_argument("prompt", metavar="PROMPT", help="the prompt; - reads it from stdin")
    parser.add_argument(
        "--methods", default="", metavar="M,M,…", help="default: all that this model can run"
    )
    add_decode_options(parser)


def execute(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Write the text once, and ask every method at every position."""
    prompt, settings = prompt_from(args.prompt), settings_from(args)
    methods = method_list(args.methods) if args.methods else []
    lab = load_lab(args, console)
    from explorer.measuring.who_knew import who_knew

    with console.share("overlap") as progress:
        found = who_knew(lab, prompt, settings, methods, progress)
    return found.model_dump(mode="json")


def render(result: dict[str, Any]) -> str:
    """A row for each method, and the bound of a router."""
    rows = [
        (
            name,
            f"{method['known']:.0%}",
            f"{method['alone']:.0%}",
            str(method["farthest"]),
            number(method["tokens_per_step"]),
        )
        for name, method in result["methods"].items()
    ]
    return "\n\n".join(
        [
            table(("method", "drafted", "it alone", "farthest ahead", "tokens/step"), rows),
            result["sentence"],
            *result["notes"],
        ]
    )
