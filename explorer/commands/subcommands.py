"""A parser for each command of a group: the product's commands, and those of `train`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType

from explorer.commands.options import add_model_options


def add_commands(
    commands: argparse._SubParsersAction,
    summaries: Mapping[str, str],
    module_of: Callable[[str], ModuleType],
    argv: Sequence[str],
) -> None:
    """Add the commands in `summaries`; only the one that `argv` names first gets its options.

    So --help is quick. A module with `add_subcommands` is a group.
    """
    for name, summary in summaries.items():
        if name not in argv[:1]:
            commands.add_parser(name, help=summary)
            continue
        module = module_of(name)
        command = commands.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            epilog=f"example:\n  {module.EXAMPLE}",
        )
        if hasattr(module, "add_subcommands"):
            module.add_subcommands(command, argv[1:])
        else:
            module.add_arguments(command)
            add_model_options(command, fewer_heads=not getattr(module, "MAKES_HEADS", False))
