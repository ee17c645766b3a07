"""`train`: Medusa heads for a base model."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from explorer.commands.console import Console, table
from explorer.commands.options import load_explorer
from explorer.errors import ExplorerError

if TYPE_CHECKING:
    from explorer.models.base import BaseModel
    from explorer.training.options import TrainOptions

EXAMPLE = "python -m explorer train --data selfdistill.jsonl.gz --out heads --num-heads 4"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One option for each setting of a training run."""
    from explorer.training.options import TrainOptions

    group = parser.add_argument_group("training")
    for name, field in TrainOptions.model_fields.items():
        about = field.description or name.replace("_", " ")
        default = "" if field.is_required() else f" (default {field.default})"
        group.add_argument(
            f"--{name.replace('_', '-')}",
            dest=f"train_{name}",
            required=field.is_required(),
            metavar="PATH" if name in ("data", "out", "cache_folder") else "VALUE",
            help=f"{about}{default}".replace("%", "%%"),
        )


def execute(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Train, with the losses on stderr."""
    from explorer.training.medusa1 import train_heads

    options = train_options(args)
    if not options.data.is_file():
        raise ExplorerError(f"There is no training data at {options.data}: check the path.")
    explorer = load_explorer(args, console, heads="none")
    progress = _Progress(console)
    try:
        result = train_heads(explorer.model, options, progress)
    finally:
        progress.close()
    console.say("measuring which predictions are right on the held-out text")
    _save_rank_table(explorer.model, options)
    return result.model_dump(mode="json")


def _save_rank_table(model: BaseModel, options: TrainOptions) -> None:
    """Put beside the heads what the search for the best tree needs to know of them."""
    from explorer.analysis.rank_table import measure_rank_table, save_rank_table
    from explorer.models.checkpoints import load_heads
    from explorer.training.medusa1 import split_data

    conversations, _, held = split_data(options, model.vocab_size)
    texts = [(conversations[i].prompt, conversations[i].response) for i in held]
    heads = load_heads(options.out, device=model.device, lm_head_weight=model.lm_head.weight)
    table = measure_rank_table(model, heads, texts, f"{len(held)} held-out training conversations")
    save_rank_table(table, options.out)


def train_options(args: argparse.Namespace) -> Any:
    """The settings given on the command line, over their defaults. Raises ExplorerError."""
    from explorer.training.options import TrainOptions

    given = {name: getattr(args, f"train_{name}") for name in TrainOptions.model_fields}
    try:
        return TrainOptions(**{k: v for k, v in given.items() if v is not None})
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]).replace("_", "-")
        raise ExplorerError(
            f"--{name}: {first['msg']}; you gave '{first['input']!s:.60}'."
        ) from error


def render(result: dict[str, Any]) -> str:
    """Accuracies of each head on held-out text."""
    accuracy = {k: v for k, v in result["accuracy"].items() if isinstance(v, list)}
    heads = range(1, max(map(len, accuracy.values()), default=0) + 1)
    rows = [(name, *(f"{value:.3f}" for value in values)) for name, values in accuracy.items()]
    return (
        f"{table(('held-out', *(f'head {k}' for k in heads)), rows)}\n\n"
        f"{result['train_tokens']} tokens, {result['seconds']:.0f} s; the heads are in "
        f"{result['out']}."
    )


class _Progress:
    """One bar a phase, and a line after every epoch."""

    def __init__(self, console: Console) -> None:
        self.console, self.phase, self.bar = console, None, None

    def __call__(self, event: dict[str, Any]) -> None:
        if event.get("phase") == "epoch":
            top1 = " ".join(f"{value:.3f}" for value in event.get("accuracy", {}).get("top1", []))
            self.console.say(
                f"epoch {event['epoch']}/{event['epochs']}: loss {event['loss']:.4f}, "
                f"held-out top-1 {top1}"
            )
            return
        phase = (event.get("phase"), event.get("epoch"))
        if phase != self.phase:
            self.close()
            self.phase, self.bar = phase, self.console.bar(event.get("total"), "")
            self.bar.set_description(" ".join(str(part) for part in phase if part is not None))
        self.bar.update(event.get("done", 0) - self.bar.n)
        if "loss" in event:
            self.bar.set_postfix(loss=event["loss"])

    def close(self) -> None:
        """End the bar of the present phase."""
        if self.bar is not None:
            self.bar.close()
            self.bar = None
