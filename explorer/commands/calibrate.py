"""`calibrate`: what this machine and these heads can do, and the best tree for them."""

from __future__ import annotations

import argparse
from typing import Any

from explorer.commands.console import Console, number, table
from explorer.commands.options import load_explorer, settings_from
from explorer.commands.prompts import BUILT_IN, add_prompts_options, read_prompts

EXAMPLE = "python -m explorer calibrate --prompts assets/prompts.jsonl --json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What only this command takes."""
    add_prompts_options(parser, required=False)
    parser.add_argument(
        "--max-new-tokens", type=int, metavar="N", help="tokens of each prompt (default 128)"
    )


def execute(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Measure, and keep the outcome for `--tree auto`."""
    prompts = read_prompts(args.prompts or str(BUILT_IN), args.limit)
    settings = settings_from(args)
    explorer = load_explorer(args, console)
    from explorer.analysis.calibration import calibrate

    with console.share("calibrate") as progress:
        calibration = calibrate(
            explorer, prompts, max_new_tokens=settings.max_new_tokens, progress=progress
        )
    return calibration.model_dump(mode="json") | {
        "sentence": calibration.sentence,
        "pays": calibration.pays,
    }


def render(result: dict[str, Any]) -> str:
    """The cost curves, the heads' accuracies, and whether speculation pays here."""
    curves = result["cost_curve"]
    header = ("rows", *(f"C(n), context {curve['context_length']}" for curve in curves))
    ratios = [dict(zip(curve["rows"], curve["ratios"], strict=True)) for curve in curves]
    costs = [
        (str(rows), *(number(ratio.get(rows)) for ratio in ratios)) for rows in curves[0]["rows"]
    ]
    heads = [
        (f"head {k}", *(number(value, 3) for value in [*ranks, None, None, None][:3]))
        for k, ranks in enumerate(result["head_accuracy"], start=1)
    ]
    tree = " ".join(str(tuple(path)).replace(" ", "") for path in result["tree"])
    return "\n\n".join(
        [
            table(header, costs),
            table(("accuracy", "first", "second", "third"), heads),
            f"best tree: {tree}",
            result["sentence"],
        ]
    )
