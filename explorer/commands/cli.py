"""The command line: `python -m explorer COMMAND`.

With `--json`, stdout carries exactly one JSON object; progress and logs go to stderr. Exit status
0: done; 2: bad usage or input, with one line about it; 1: anything else.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from types import ModuleType
from typing import NoReturn

from explorer.commands.console import Console
from explorer.commands.subcommands import add_commands
from explorer.records.errors import ExplorerError
from explorer.records.proxies import settle_proxies

COMMANDS = {
    "run": "decode one prompt",
    "race": "time methods against plain decoding, interleaved on the same weights",
    "bench": "race over many prompts; print the cost curve and whether speculation pays here",
    "audit": "check that speculative decoding gives the same text as plain decoding",
    "calibrate": "measure this machine and the heads; find prices for auto and the best fixed tree",
    "perplexity": "measure the perplexity of texts by acceptance rule and temperature",
    "replay": "count what other trees would have done on recorded runs",
    "overlap": "show which method would have drafted each token of a text, and how far ahead",
    "doctor": "say why decoding with these heads is, or is not, faster",
    "export": "write heads in the format of another project",
    "site": "write Learn and the recorded runs as static files that need no server",
    "train": "train heads, a tuned model with its heads, or a draft model",
}
DEBUG_VARIABLE = "MEDUSA_EXPLORER_DEBUG"
OK, FAILED, BAD_INPUT = 0, 1, 2


class Parser(argparse.ArgumentParser):
    """Reports errors in one line, and accepts no abbreviated options: scripts depend on it."""

    def __init__(self, *args, **kwargs) -> None:
        kwargs.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(*args, allow_abbrev=False, **kwargs)

    def error(self, message: str) -> NoReturn:
        """Print one line to stderr and leave with status 2."""
        self.exit(BAD_INPUT, f"{self.prog}: {message} (see {self.prog} --help)\n")


def build_parser(argv: Sequence[str]) -> Parser:
    """The parser. Only the command named in `argv` gets its options, so that --help is quick."""
    parser = Parser(prog="explorer", description="See speculative decoding happen.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {_version()}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    add_commands(commands, COMMANDS, command_module, argv)
    return parser


def command_module(name: str) -> ModuleType:
    """The module that runs a command."""
    return importlib.import_module(f"explorer.commands.{name}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Returns the exit status; argparse may raise SystemExit."""
    argv = list(sys.argv[1:] if argv is None else argv)
    parser = build_parser(argv)
    args = parser.parse_args(argv)
    if args.command is None:
        parser.error(f"choose a command: {', '.join(COMMANDS)}")
    console = Console(json=args.json)
    try:
        return _carry_out(args, console)
    except ExplorerError as error:
        return _fail(BAD_INPUT, f"{parser.prog} {args.command}: {error}")
    except KeyboardInterrupt:
        return _fail(FAILED, "Stopped.")
    except BrokenPipeError:
        # the reader of stdout has closed it; Python's flush at exit must not fail
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception as error:
        return _fail(FAILED, _unexpected(error))


def _carry_out(args: argparse.Namespace, console: Console) -> int:
    settle_proxies()
    module = command_module(args.command)
    # Libraries print to stdout; only the result may reach it.
    with contextlib.redirect_stdout(sys.stderr):
        result = module.execute(args, console)
    console.result(result, module.render)
    return OK


def _fail(status: int, message: str) -> int:
    print(" ".join(message.split()), file=sys.stderr)
    return status


def _unexpected(error: Exception) -> str:
    if os.environ.get(DEBUG_VARIABLE):
        traceback.print_exc()
    text = str(error) or "no message"
    if isinstance(error, MemoryError) or "out of memory" in text.lower():
        return (
            "Out of memory: choose a smaller model, the int4 or nf4 backend, or fewer new tokens "
            f"({type(error).__name__}: {text:.200})."
        )
    return (
        f"Unexpected error, {type(error).__name__}: {text:.500} (set {DEBUG_VARIABLE}=1 for the "
        "traceback)."
    )


def _version() -> str:
    from explorer.records.version import __version__

    return __version__
