"""`train heads`: Medusa heads for a frozen base model."""

from __future__ import annotations

import argparse
from contextlib import closing
from typing import Any

from explorer.commands.console import Console
from explorer.commands.options import load_lab
from explorer.commands.train.common import (
    Progress,
    accuracy_table,
    add_settings,
    require_data,
    settings_from,
)

MAKES_HEADS = True  # so that --num-heads is a setting of theirs
EXAMPLE = "python -m explorer train heads --data selfdistill.jsonl.gz --out heads --num-heads 4"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One option for each setting of a training run."""
    from explorer.training.options import TrainOptions

    add_settings(parser, TrainOptions)


def execute(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Train, with the losses on stderr."""
    from explorer.training.medusa1 import train_heads
    from explorer.training.options import TrainOptions

    options = settings_from(args, TrainOptions)
    require_data(options.data)
    lab = load_lab(args, console, heads="none")
    with closing(Progress(console)) as progress:
        result = train_heads(lab.model, options, progress)
    return result.model_dump(mode="json")


def render(result: dict[str, Any]) -> str:
    """Accuracies of each head on held-out text."""
    return (
        f"{accuracy_table(result['accuracy'])}\n\n"
        f"{result['train_tokens']} tokens, {result['seconds']:.0f} s; the heads are in "
        f"{result['out']}."
    )
