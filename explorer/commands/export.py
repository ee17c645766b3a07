"""`export`: heads in the format of another project."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from explorer.commands.console import Console
from explorer.commands.options import asked_for, at_least
from explorer.weights.presets import model_options

EXAMPLE = "python -m explorer export --to vllm served"
FORMATS = ("medusa", "tgi", "vllm", "explorer")  # heads/export.py, which needs torch, has the same


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command only."""
    parser.add_argument("out", metavar="OUT", help="folder to write")
    parser.add_argument(
        "--to",
        required=True,
        choices=FORMATS,
        help="medusa: medusa_lm_head.pt of FasterDecoding/Medusa; tgi: text-generation-inference; "
        "vllm: a folder that vLLM serves, with serve.sh; explorer: this product's own",
    )
    group = parser.add_argument_group("for vllm")
    group.add_argument(
        "--heads-only",
        action="store_true",
        help="no base model, no draft model and no serve.sh: the heads in OUT itself",
    )
    group.add_argument(
        "--token-map",
        action="store_true",
        help="keep heads that choose between some tokens as they are, with a token_map, which "
        "vLLM 0.32.0 refuses; without it they are written over all tokens",
    )
    group.add_argument(
        "--tensor-parallel",
        type=at_least(1),
        default=1,
        metavar="N",
        help="GPUs that share the model, for serve.sh (default 1)",
    )


def execute(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Convert. The base model is loaded only if some of its weights have to be written."""
    options = model_options(**asked_for(args))
    if args.to == "vllm" and not args.heads_only:
        from explorer.serving.vllm_folder import export_for_vllm

        more = {"tensor_parallel": args.tensor_parallel, "draft": args.draft}
        done = export_for_vllm(
            options, args.out, token_map=args.token_map, **more, progress=console.loading
        )
    else:
        from explorer.lab.exporting import export

        done = export(options, args.to, args.out, not args.token_map, console.loading)
    return asdict(done)


def render(result: dict[str, Any]) -> str:
    """The written files, and the notes."""
    return "\n".join([f"{result['format']}: {', '.join(result['files'])}", *result["notes"]])
