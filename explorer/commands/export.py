"""`export`: heads in the format of another project."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from explorer.commands.console import Console
from explorer.commands.options import asked_for
from explorer.weights.presets import model_options

EXAMPLE = "python -m explorer export --to vllm served/heads"
FORMATS = ("medusa", "tgi", "vllm", "explorer")  # heads/export.py, which needs torch, has the same


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command only."""
    parser.add_argument("out", metavar="OUT", help="folder to write")
    parser.add_argument(
        "--to",
        required=True,
        choices=FORMATS,
        help="medusa: medusa_lm_head.pt of FasterDecoding/Medusa; tgi: text-generation-inference; "
        "vllm: vLLM's Medusa; explorer: this product's own",
    )
    parser.add_argument(
        "--whole-vocabulary",
        action="store_true",
        help="for vllm: write heads that choose between some tokens over all of them, since "
        "vLLM 0.32.0 refuses a token_map",
    )


def execute(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Convert. The base model is loaded only if its LM head has to be written."""
    options = model_options(**asked_for(args))
    from explorer.lab.exporting import export

    return asdict(export(options, args.to, args.out, args.whole_vocabulary, console.loading))


def render(result: dict[str, Any]) -> str:
    """The written files, and the notes."""
    return "\n".join([f"{result['format']}: {', '.join(result['files'])}", *result["notes"]])
