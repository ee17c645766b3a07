"""`race`: several methods on one prompt, timed fairly."""

from __future__ import annotations

import argparse
from typing import Any

from explorer.commands.console import Console, number, table
from explorer.commands.options import (
    add_decode_options,
    load_explorer,
    method_list,
    prompt_from,
    settings_from,
)
from explorer.decoding.registry import METHODS
from explorer.errors import ExplorerError
from explorer.tracing.events import StepRecorded, TraceBuilder
from explorer.tracing.schema import Trace
from explorer.tracing.text import join_pieces

EXAMPLE = 'python -m explorer race "Explain what a binary search is, with a Python example." --json'
PLAIN = "plain"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What only this command takes."""
    parser.add_argument("prompt", metavar="PROMPT", help="the prompt; - reads it from stdin")
    parser.add_argument(
        "--methods",
        default="plain,medusa",
        metavar="M,M,…",
        help=f"plain and what races it: {', '.join(METHODS)} (default: plain,medusa)",
    )
    add_decode_options(parser)


def lanes_of(methods: str) -> list[str]:
    """The methods of a race, plain first. Raises ExplorerError."""
    rivals = [name for name in method_list(methods) if name != PLAIN]
    if PLAIN not in method_list(methods) or not rivals:
        raise ExplorerError(
            f"A race needs plain and one other method at least, but you gave '{methods:.80}': "
            "write for example --methods plain,medusa."
        )
    return [PLAIN, *rivals]


def execute(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Run the race."""
    prompt, methods = prompt_from(args.prompt), lanes_of(args.methods)
    settings = settings_from(args, method=methods[1])
    explorer = load_explorer(args, console)
    runs = {method: TraceBuilder() for method in methods}
    with console.bar(len(methods) * settings.max_new_tokens, " tokens") as bar:
        for method, event in explorer.compare(prompt, settings, methods):
            runs[method].add(event)
            if isinstance(event, StepRecorded):
                bar.update(len(event.step.emitted))
    traces = {method: run.trace() for method, run in runs.items()}
    return result_of(traces) | {"notes": list(explorer.notes)}


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
    if result["spread"] is not None:
        verdict += f" ± {number(result['spread'])}"
    if result["estimate"]:
        verdict += " (an estimate: too few tokens to call it measured)"
    lanes = "both" if len(rows) == 2 else "all"
    return f"{result['text']}\n\n{table(header, rows)}\n\n{verdict}; {lanes} lanes gave {same}."


def result_of(traces: dict[str, Trace]) -> dict[str, Any]:
    """The figures of a race, plain first. `speedup`, `spread` and `estimate` are the second lane's.

    `identical` compares lanes with plain token for token.
    """
    from explorer.analysis.speedup import Samples, compare

    plain = Samples.of_steps(traces[PLAIN].steps)
    figures = {name: compare(Samples.of_steps(t.steps), plain) for name, t in traces.items()}
    main = list(traces)[1]
    header, tokens = traces[main].header, traces[main].new_token_ids
    lanes = {name: _lane(trace) for name, trace in traces.items()}
    for name, lane in lanes.items():
        lane["speedup"] = None if name == PLAIN else figures[name].speedup
        lane["spread"] = None if name == PLAIN else figures[name].spread
        lane["identical"] = lane["token_ids"] == lanes[PLAIN]["token_ids"]
    return {
        "lanes": lanes,
        "speedup": figures[main].speedup,
        "spread": figures[main].spread,
        "estimate": figures[main].estimate,
        "identical": all(lane["identical"] for lane in lanes.values()),
        "text": join_pieces(traces[main].pieces, [t for t in tokens if t not in header.eos_ids]),
        "model": header.model,
        "heads": header.heads,
        "backend": header.backend,
        "device": header.device,
        "settings": header.settings.model_dump(),
    }


def _lane(trace: Trace) -> dict[str, Any]:
    from explorer.analysis.speedup import Samples, lane_figures

    lane = lane_figures(Samples.of_steps(trace.steps))
    return {
        "tokens_per_second": lane.tokens_per_second,
        "tokens_per_step": lane.tokens_per_step,
        "seconds": lane.seconds,
        "steps": lane.steps,
        "new_tokens": lane.tokens,
        "prefill_seconds": trace.header.prefill_ms / 1000,
        "token_ids": trace.new_token_ids,
    }
