"""`race`: two methods on one prompt, timed fairly."""

from __future__ import annotations

import argparse
from typing import Any

from explorer.commands.console import Console, number, table
from explorer.commands.options import (
    add_decode_options,
    load_explorer,
    prompt_from,
    settings_from,
)
from explorer.errors import ExplorerError
from explorer.tracing.events import PlainRecorded, StepRecorded, TraceBuilder
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
        metavar="M,M",
        help="plain and the method that races it (default: plain,medusa)",
    )
    add_decode_options(parser)


def rival_of_plain(methods: str) -> str:
    """The one method beside `plain` in a comma-separated list. Raises ExplorerError."""
    names = [name.strip() for name in methods.split(",") if name.strip()]
    rivals = [name for name in dict.fromkeys(names) if name != PLAIN]
    if PLAIN not in names or len(rivals) != 1:
        raise ExplorerError(
            f"A race has two lanes, plain and one other, but you gave '{methods:.80}': write for "
            "example --methods plain,medusa."
        )
    return rivals[0]


def execute(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Run the race."""
    prompt = prompt_from(args.prompt)
    settings = settings_from(args, method=rival_of_plain(args.methods))
    explorer = load_explorer(args, console)
    builder = TraceBuilder()
    with console.bar(2 * settings.max_new_tokens, " tokens") as bar:
        for event in explorer.race(prompt, settings):
            builder.add(event)
            if isinstance(event, StepRecorded):
                bar.update(len(event.step.emitted))
            elif isinstance(event, PlainRecorded):
                bar.update(1)
    return result_of(builder.trace()) | {"notes": list(explorer.notes)}


def render(result: dict[str, Any]) -> str:
    """The text, a row a lane, and the speedup in words."""
    rows = [
        (
            name,
            number(lane["tokens_per_second"], 1),
            number(lane["tokens_per_step"]),
            number(lane["seconds"], 2, " s"),
            str(lane["new_tokens"]),
        )
        for name, lane in result["lanes"].items()
    ]
    figures = table(("lane", "tokens/s", "tokens/step", "time", "tokens"), rows)
    same = "the same text" if result["identical"] else "different texts"
    verdict = f"speedup {number(result['speedup'])}×"
    if result["spread"] is not None:
        verdict += f" ± {number(result['spread'])}"
    if result["estimate"]:
        verdict += " (an estimate: too few tokens to call it measured)"
    return f"{result['text']}\n\n{figures}\n\n{verdict}; both lanes gave {same}."


def result_of(trace: Trace) -> dict[str, Any]:
    """The figures of a race. `identical` compares the two lanes token for token."""
    from explorer.analysis.speedup import Samples, lane_figures, race_figures

    header = trace.header
    ours, theirs = trace.new_token_ids, [token.token_id for token in trace.plain]
    lanes = {
        PLAIN: (lane_figures(Samples.of_plain(trace.plain)), trace.plain_prefill_ms, theirs),
        header.settings.method: (
            lane_figures(Samples.of_steps(trace.steps)),
            header.prefill_ms,
            ours,
        ),
    }
    figures = race_figures(trace.steps, trace.plain)
    return {
        "lanes": {
            name: {
                "tokens_per_second": lane.tokens_per_second,
                "tokens_per_step": lane.tokens_per_step,
                "seconds": lane.seconds,
                "steps": lane.steps,
                "new_tokens": len(tokens),
                "prefill_seconds": None if prefill is None else prefill / 1000,
                "token_ids": tokens,
            }
            for name, (lane, prefill, tokens) in lanes.items()
        },
        "speedup": figures.speedup,
        "spread": figures.spread,
        "estimate": figures.estimate,
        "identical": ours == theirs,
        "text": join_pieces(trace.pieces, [t for t in ours if t not in header.eos_ids]),
        "model": header.model,
        "heads": header.heads,
        "backend": header.backend,
        "device": header.device,
        "settings": header.settings.model_dump(),
    }
