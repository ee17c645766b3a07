"""`run`: decode one prompt."""

from __future__ import annotations

import argparse
import codecs
from pathlib import Path
from typing import Any

from explorer.analysis.speedup import with_figures
from explorer.commands.console import Console, number
from explorer.commands.options import (
    add_decode_options,
    load_lab,
    prompt_from,
    settings_from,
)
from explorer.records.errors import ExplorerError
from explorer.records.events import Event, StepRecorded, TraceBuilder
from explorer.records.files import read_trace, write_trace
from explorer.records.methods import METHODS
from explorer.records.numbers import plural
from explorer.records.piece import piece_bytes
from explorer.records.schema import Trace
from explorer.records.text import piece_of, readable

EXAMPLE = 'python -m explorer run "Explain what a binary search is." --max-new-tokens 64'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command only."""
    parser.add_argument(
        "prompt", metavar="PROMPT", nargs="?", help="the prompt; - reads it from stdin"
    )
    parser.add_argument(
        "--continue-from",
        metavar="FILE",
        help="instead of a prompt: a trace, whose text the run continues",
    )
    parser.add_argument(
        "--method",
        metavar="M",
        help=f"{', '.join(METHODS)} (default: medusa, or what the loaded heads draft with)",
    )
    parser.add_argument("--trace", metavar="FILE", help="write a replayable record (.json.gz)")
    add_decode_options(parser)


def execute(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Decode, streaming the text."""
    from explorer.analysis.results import run_result

    prompt, settings = _prompt_or_trace(args), settings_from(args)
    trace_path = _writable(args.trace)
    lab = load_lab(args, console)
    if args.method is None:
        settings = settings.model_copy(update={"method": lab.method})
    if isinstance(prompt, Trace):
        prompt = lab.continuation(prompt)
    builder, text = TraceBuilder(), _TextStream(console)
    with console.bar(settings.max_new_tokens, " tokens", streams=True) as bar:
        for event in lab.decode(prompt, settings):
            builder.add(event)
            bar.update(text.add(event, builder))
    trace = builder.trace()
    if trace_path is not None:
        write_trace(with_figures(trace), trace_path)
    return run_result(trace) | {"trace": args.trace, "notes": list(lab.notes)}


def _prompt_or_trace(args: argparse.Namespace) -> str | Trace:
    """The prompt or the text to continue, read before the model. Raises ExplorerError."""
    if (args.prompt is None) == (args.continue_from is None):
        raise ExplorerError("Give a PROMPT, or --continue-from FILE: one of the two.")
    if args.prompt is not None:
        return prompt_from(args.prompt)
    return read_trace(args.continue_from)


def render(result: dict[str, Any]) -> str:
    """The figures; the text itself was streamed."""
    if not result["new_tokens"]:
        return "No token was decoded."
    line = (
        f"\n{result['new_tokens']} tokens in {plural(result['steps'], 'step')} and "
        f"{number(result['seconds'])} s: {number(result['tokens_per_second'], 1)} tokens/s, "
        f"{number(result['tokens_per_step'])} tokens per step ({result['method']}, "
        f"{result['backend']} on {result['device']})"
    )
    return f"{line}\ntrace: {result['trace']}" if result["trace"] else line


class _TextStream:
    """Text as it is decoded: a character is shown once all its bytes are there."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def add(self, event: Event, builder: TraceBuilder) -> int:
        """Show what `event` added; returns the number of new tokens."""
        tokens = event.step.emitted if isinstance(event, StepRecorded) else []
        eos = builder.header.eos_ids if builder.header else []
        shown = (piece_of(builder.pieces, token) for token in tokens if token not in eos)
        text = "".join(self.decoder.decode(piece_bytes(piece)) for piece in shown)
        # On a terminal, control characters of a model's text must not steer the terminal.
        self.console.stream(readable(text) if self.console.interactive else text)
        return len(tokens)


def _writable(path: str | None) -> Path | None:
    """The trace's path, checked before the run."""
    if path is None:
        return None
    try:
        file = Path(path).expanduser()
        existed = file.exists()
        file.open("ab").close()  # an older trace stays until the new one is complete
        if not existed:
            file.unlink()
    except (OSError, RuntimeError, ValueError) as error:  # RuntimeError: ~nobody has no home
        raise ExplorerError(
            f"No trace can be written to {path:.200}: name a file in a folder you may write to."
        ) from error
    return file
