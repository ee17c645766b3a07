"""`train draft`: a small draft model for draft-model speculative decoding."""

from __future__ import annotations

import argparse
from contextlib import closing
from typing import Any

from explorer.commands.console import Console
from explorer.commands.options import load_lab
from explorer.commands.train.common import Progress, add_settings, require_data, settings_from

EXAMPLE = "python -m explorer train draft --data selfdistill.jsonl.gz --out draft --layers 2"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One option for each setting of a training run."""
    from explorer.training.draft import DraftOptions

    add_settings(parser, DraftOptions)


def execute(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Distil, with the losses on stderr."""
    from explorer.training.draft import DraftOptions, train_draft

    options = settings_from(args, DraftOptions)
    require_data(options.data)
    lab = load_lab(args, console, heads="none")
    with closing(Progress(console)) as progress:
        result = train_draft(lab.model, options, progress)
    return result.model_dump(mode="json")


def render(result: dict[str, Any]) -> str:
    """The draft's accuracy, and its path."""
    accuracy = result["accuracy"]
    return (
        f"The draft's first choice is the base model's at {accuracy['agreement']:.1%} of the "
        f"held-out positions; of 4 tokens guessed, greedy verification accepts "
        f"{accuracy['accepted_chain']:.2f} on average.\n{result['train_tokens']} tokens, "
        f"of which its vocabulary covers {result['coverage']:.1%}; "
        f"{result['seconds']:.0f} s; the draft ({result['bytes'] / 1e6:.1f} MB) is in "
        f"{result['out']}."
    )
