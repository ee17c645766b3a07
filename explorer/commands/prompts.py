"""The options that name a file of prompts."""

from __future__ import annotations

import argparse

from explorer.commands.options import at_least


def add_prompts_options(parser: argparse.ArgumentParser, required: bool = True) -> None:
    """The options for the prompts of a command."""
    parser.add_argument(
        "--prompts",
        required=required,
        metavar="FILE.jsonl",
        help='lines of {"id", "category", "prompt"}; - is stdin',
    )
    parser.add_argument("--limit", type=at_least(1), metavar="N", help="the first N prompts only")
