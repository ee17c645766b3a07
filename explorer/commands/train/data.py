"""`train data`: text that the base model writes itself (self-distillation)."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path
from typing import Any

from explorer.commands.console import Console
from explorer.commands.options import load_lab
from explorer.commands.train.common import Progress, add_settings, settings_from
from explorer.records.prompts import read_prompts

EXAMPLE = "python -m explorer train data --prompts assets/prompts.jsonl --out text.jsonl.gz"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One option for each setting."""
    from explorer.training.generate import DataOptions

    add_settings(parser, DataOptions)


def execute(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Write, with a bar on stderr that shows tokens/s and the time left."""
    from explorer.training.generate import DataOptions, generate_data

    options = settings_from(args, DataOptions)
    asked, openings = (_prompts(path) for path in (options.prompts, options.openings))
    lab = load_lab(args, console, heads="none")
    with closing(Progress(console)) as progress:
        result = generate_data(lab.model, options, asked, progress, openings)
    return result.model_dump(mode="json")


def _prompts(path: Path | None) -> list[str]:
    return [record["prompt"] for record in read_prompts(str(path))] if path else []


def render(result: dict[str, Any]) -> str:
    """The amount of text, and its path."""
    return (
        f"{result['conversations']} conversations, {result['reply_tokens']} reply tokens, "
        f"{result['seconds']:.0f} s ({result['dropped']} dropped as loops, empty or repeated); "
        f"they are in {result['out']}."
    )
