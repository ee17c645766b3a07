"""`train heads`: Medusa heads for a frozen base model."""

from __future__ import annotations

import argparse
from contextlib import closing
from typing import TYPE_CHECKING, Any

from explorer.commands.console import Console
from explorer.commands.options import load_explorer
from explorer.commands.train.common import (
    Progress,
    accuracy_table,
    add_settings,
    require_data,
    settings_from,
)

if TYPE_CHECKING:
    from explorer.models.base import BaseModel
    from explorer.training.options import TrainResult

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
    explorer = load_explorer(args, console, heads="none")
    with closing(Progress(console)) as progress:
        result = train_heads(explorer.model, options, progress)
    console.say("measuring which predictions are right on the held-out text")
    _save_rank_table(explorer.model, result)
    return result.model_dump(mode="json")


def _save_rank_table(model: BaseModel, result: TrainResult) -> None:
    """Put beside the heads what the search for the best tree needs to know of them."""
    from explorer.analysis.rank_table import measure_rank_table, save_rank_table
    from explorer.models.checkpoints import load_heads

    texts = [(conversation.prompt, conversation.response) for conversation in result.held_out]
    heads = load_heads(result.out, model)
    table = measure_rank_table(model, heads, texts, f"{len(texts)} held-out training conversations")
    save_rank_table(table, result.out)


def render(result: dict[str, Any]) -> str:
    """Accuracies of each head on held-out text."""
    return (
        f"{accuracy_table(result['accuracy'])}\n\n"
        f"{result['train_tokens']} tokens, {result['seconds']:.0f} s; the heads are in "
        f"{result['out']}."
    )
