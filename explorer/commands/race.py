"""`race`: several methods on one prompt, timed fairly."""

from __future__ import annotations

import argparse
from typing import Any

from explorer.commands.console import Console, number, table
from explorer.commands.options import (
    add_decode_options,
    load_lab,
    method_list,
    prompt_from,
    settings_from,
)
from explorer.records.events import StepRecorded, TraceBuilder
from explorer.records.methods import METHODS, race_methods

EXAMPLE = 'python -m explorer race "Explain what a binary search is, with a Python example." --json'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command only."""
    parser.add_argument("prompt", metavar="PROMPT", help="the prompt; - reads it from stdin")
    parser.add_argument(
        "--methods",
        default="plain,medusa",
        metavar="M,M,…",
        help=f"plain and the methods to race: {', '.join(METHODS)} (default: plain,medusa)",
    )
    add_decode_options(parser)


def execute(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Run the race."""
    from explorer.analysis.results import race_result

    prompt, methods = prompt_from(args.prompt), race_methods(method_list(args.methods))
    settings = settings_from(args, method=methods[1])
    lab = load_lab(args, console)
    runs = {method: TraceBuilder() for method in methods}
    with console.bar(len(methods) * settings.max_new_tokens, " tokens") as bar:
        for method, event in lab.compare(prompt, settings, methods):
            runs[method].add(event)
            if isinstance(event, StepRecorded):
                bar.update(len(event.step.emitted))
    traces = {method: run.trace() for method, run in runs.items()}
    return race_result(traces) | {"notes": list(lab.notes)}


def render(result: dict[str, Any]) -> str:
    """The text, a row a lane, and the speedup in words."""
    rows = [
        (
            name,
            number(lane["tokens_per_second"], 1),
            number(lane["tokens_per_step"]),
            number(lane["seconds"], 2, " s"),
            str(lane["new_tokens"]),
            number(lane["speedup"], unit="×"),
            "yes" if lane["identical"] else "no",
        )
        for name, lane in result["lanes"].items()
    ]
    header = ("lane", "tokens/s", "tokens/step", "time", "tokens", "speedup", "as plain")
    same = "the same text" if result["identical"] else "different texts"
    verdict = f"speedup {number(result['speedup'])}×"
    if result["half_width"] is not None:
        verdict += f" ± {number(result['half_width'])}"
    if result["estimate"]:
        verdict += " (an estimate: too few tokens to call it measured)"
    lanes = "both" if len(rows) == 2 else "all"
    return f"{result['text']}\n\n{table(header, rows)}\n\n{verdict}; {lanes} lanes gave {same}."
