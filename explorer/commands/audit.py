"""`audit`: whether speculative decoding writes the same text as plain decoding."""

from __future__ import annotations

import argparse
from typing import Any

from explorer.commands.console import Console
from explorer.commands.options import (
    add_length_options,
    add_method_parameters,
    given_parameters,
    load_lab,
    settings_from,
)
from explorer.commands.prompts import add_prompts_options
from explorer.records.methods import METHODS
from explorer.records.prompts import read_prompts

EXAMPLE = "python -m explorer audit --prompts assets/prompts.jsonl --limit 10 --json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command only."""
    add_prompts_options(parser)
    parser.add_argument(
        "--method", metavar="M", help=f"the method to check: {', '.join(METHODS)} (default medusa)"
    )
    add_length_options(parser)
    add_method_parameters(parser)


def execute(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Decode every prompt twice and explain each difference."""
    prompts, settings = read_prompts(args.prompts, args.limit), settings_from(args)
    lab = load_lab(args, console)
    from explorer.measuring.audit import audit

    with console.share("audit") as progress:
        report = audit(
            lab,
            prompts,
            max_new_tokens=settings.max_new_tokens,
            method=settings.method,
            tree=settings.tree,
            progress=progress,
            **given_parameters(args),
        )
    return report.model_dump(mode="json") | {
        "sentence": report.sentence,
        "tuned": lab.model.tuned,
    }


def render(result: dict[str, Any]) -> str:
    """One line for each prompt that differs, and the result in words."""
    lines = [
        f"{detail['id']}: {detail['explanation']}"
        for detail in result["details"]
        if detail["verdict"] != "identical"
    ]
    tuned = [f"The model is tuned: {result['tuned']}."] if result["tuned"] else []
    return "\n".join([*lines, result["sentence"], *tuned])
