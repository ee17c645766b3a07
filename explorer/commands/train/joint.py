"""`train joint`: heads and an adapter of their base model, together."""

from __future__ import annotations

import argparse
from contextlib import closing
from typing import Any

from explorer.commands.console import Console, table
from explorer.commands.options import load_lab
from explorer.commands.train.common import (
    Progress,
    accuracy_table,
    add_settings,
    require_data,
    settings_from,
)

MAKES_HEADS = True  # so that --num-heads is a setting of theirs
EXAMPLE = (
    "python -m explorer train joint --data selfdistill.jsonl.gz --out tuned "
    "--start-from assets/heads/default"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One option for each setting of a training run."""
    from explorer.training.joint import JointOptions

    add_settings(parser, JointOptions)


def execute(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Train, with the losses on stderr. Packed weights have no gradient, so auto means bf16."""
    from explorer.training.joint import JointOptions, train_joint

    options = settings_from(args, JointOptions)
    require_data(options.data)
    if args.backend == "auto":
        args.backend = "bf16"
    lab = load_lab(args, console, heads="none")
    with closing(Progress(console)) as progress:
        result = train_joint(lab.model, options, progress)
    return result.model_dump(mode="json")


def render(result: dict[str, Any]) -> str:
    """Accuracies, the change of the model, and what the result is lossless to."""
    rows = [
        (name.replace("_", " "), f"{value:.3f}") for name, value in result["perplexity"].items()
    ]
    return (
        f"{accuracy_table(result['accuracy'])}\n\n{table(('model', 'perplexity'), rows)}\n\n"
        f"At {result['agreement']:.1%} of the held-out tokens the untouched model's first choice "
        "is kept. "
        f"{result['train_tokens']} tokens, {result['seconds']:.0f} s; heads and adapter are in "
        f"{result['out']}: {result['lossless']}."
    )
