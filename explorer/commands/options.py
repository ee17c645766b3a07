"""Options that several commands share, and their conversion to settings."""

from __future__ import annotations

import argparse
import textwrap
from typing import TYPE_CHECKING, Any, get_args

from explorer.commands.console import Console
from explorer.records.errors import ExplorerError
from explorer.records.methods import METHODS, Parameter, known_methods, methods_heeding, parameters
from explorer.records.prompts import STDIN, read_stdin, require_text
from explorer.records.settings import (
    CHOICES,
    Backend,
    DecodeSettings,
    Device,
    HeadsDtype,
    about,
    decode_settings,
    setting_names,
)
from explorer.weights.presets import PRESETS, model_options

if TYPE_CHECKING:
    from explorer.lab.lab import Lab


def add_model_options(parser: argparse.ArgumentParser, fewer_heads: bool = True) -> None:
    """The options that every command takes; `--num-heads` unless it makes heads itself."""
    group = parser.add_argument_group("model")
    either = group.add_mutually_exclusive_group()
    either.add_argument(
        "--preset", default="default", metavar="NAME", help=f"one of {', '.join(PRESETS)}"
    )
    either.add_argument(
        "--model", metavar="ID_OR_PATH", help="a Hub id, a local folder or a GGUF file"
    )
    group.add_argument("--heads", metavar="ID_OR_PATH", help="Medusa heads; 'none' for no heads")
    if fewer_heads:
        group.add_argument(
            "--num-heads",
            type=at_least(1),
            metavar="N",
            help="use only the first N heads (default: all of the checkpoint)",
        )
        add_lighter_options(group)
    group.add_argument(
        "--adapter",
        metavar="FOLDER",
        help="a LoRA adapter of 'train joint' (default: the one with the heads); 'none' for none",
    )
    group.add_argument(
        "--draft",
        metavar="ID_OR_PATH",
        help="what draft-model drafts with: a folder of 'train draft', or a small model with the "
        "same tokenizer",
    )
    group.add_argument("--backend", choices=get_args(Backend), default="auto")
    group.add_argument("--device", choices=get_args(Device), default="auto")
    output = parser.add_argument_group("output")
    output.add_argument("--json", action="store_true", help="one JSON object on stdout")


def add_lighter_options(group: argparse._ActionsContainer) -> None:
    """Ways to make heads that were trained with heavy projections lighter."""
    group.add_argument(
        "--heads-dtype",
        choices=get_args(HeadsDtype),
        default="auto",
        help="nf4: hold the heads' projection in 4 bits (default auto: as it is, or faster where "
        "the heads are made for it)",
    )
    group.add_argument(
        "--heads-vocabulary",
        type=at_least(64),
        metavar="N",
        help="let the heads choose between N frequent tokens alone (default: all of theirs)",
    )


def asked_for(args: argparse.Namespace) -> dict[str, Any]:
    """The model and heads that the options name, as `model_options` and `load` take them."""
    names = ("preset", "model", "heads", "backend", "device", "adapter")
    asked = {name: getattr(args, name, None) for name in names}
    for name in ("num_heads", "heads_dtype", "heads_vocabulary"):  # not every command has them
        if value := getattr(args, name, None):
            asked[name] = value
    return asked


def load_lab(args: argparse.Namespace, console: Console, heads: str | None = None) -> Lab:
    """The model and heads that the options name. `heads` replaces the option.

    Raises ExplorerError.
    """
    asked: dict[str, Any] = asked_for(args) | ({"heads": heads} if heads else {})
    model_options(**asked)  # a misspelt preset is reported at once
    from explorer.lab.loading import load

    if args.draft is not None:
        asked["draft"] = args.draft
    loaded = load(**asked, progress=console.loading)
    console.say(loaded.description)
    for note in loaded.notes:
        console.say(note)
    return loaded


def add_decode_options(parser: argparse.ArgumentParser) -> None:
    """How to decode: the settings that change the text or the tree."""
    group = parser.add_argument_group("decoding")
    add_setting(group, "temperature", "T")
    add_setting(group, "top_p", "P")
    add_setting(group, "top_k", "K")
    add_setting(group, "seed", "S")
    add_setting(group, "acceptance", "RULE")
    add_typical_options(group)
    add_setting(group, "system_prompt", "TEXT", option="--system")
    group.add_argument(
        "--raw", dest="raw_prompt", action="store_true", default=None, help=about("raw_prompt")
    )
    add_length_options(parser)
    add_method_parameters(parser)


def add_typical_options(group: argparse._ActionsContainer) -> None:
    """The parameters of typical acceptance."""
    add_setting(group, "epsilon", "E")
    add_setting(group, "delta", "D", default="the root of epsilon")
    add_setting(group, "root_rule", "RULE")


def add_length_options(parser: argparse.ArgumentParser) -> None:
    """The length, and the tree."""
    group = parser.add_argument_group("length and tree")
    add_setting(group, "max_new_tokens", "N")
    add_setting(group, "tree", "NAME_OR_JSON")


def add_setting(
    group: argparse._ActionsContainer,
    name: str,
    metavar: str,
    option: str = "",
    default: str = "",
) -> None:
    """The option for a setting: type, choices and help as DecodeSettings has them.

    `option`: where its name is another. `default`: what it says where the setting has another
    default here.
    """
    field = DecodeSettings.model_fields[name]
    says = default or field.default
    group.add_argument(
        option or f"--{name.replace('_', '-')}",
        dest=name,
        type=field.annotation if field.annotation in (int, float) else str,
        choices=CHOICES.get(name),
        metavar=metavar,
        help=about(name) + ("" if says is None else f" (default {says})"),
    )


def add_method_parameters(parser: argparse.ArgumentParser) -> None:
    """The parameters of the methods, with their ranges."""
    parser.epilog = f"{_method_table()}\n\n{parser.epilog}"
    group = parser.add_argument_group("parameters of single methods")
    for name, given in parameters().items():
        group.add_argument(
            f"--{name.replace('_', '-')}",
            type=int if not given.choices else str,
            choices=given.choices or None,
            metavar=None if given.choices else "N",
            help=f"{', '.join(methods_heeding(name))}: {given.text} ({_range(given)})",
        )


def _range(given: Parameter) -> str:
    default = f"default {given.default}"
    return default if given.choices else f"{given.minimum} to {given.maximum}, {default}"


def _method_table() -> str:
    """Every method and what it does, wrapped for a terminal."""
    lines = [
        textwrap.fill(
            f"{method.name:<14}{method.explanation}",
            width=80,
            initial_indent="  ",
            subsequent_indent=" " * 16,
        )
        for method in METHODS.values()
    ]
    return "\n".join(["methods:", *lines])


def method_list(text: str) -> list[str]:
    """The names in a comma-separated list, each once. Raises ExplorerError for an unknown one."""
    return known_methods(name.strip() for name in text.split(",") if name.strip())


def given_parameters(args: argparse.Namespace) -> dict[str, Any]:
    """The parameters of single methods that were given on the command line."""
    return {name: value for name in parameters() if (value := getattr(args, name)) is not None}


def settings_from(args: argparse.Namespace, **values: Any) -> DecodeSettings:
    """The settings given on the command line, over their defaults. Raises ExplorerError."""
    given = {name: getattr(args, name, None) for name in setting_names()}
    settings = decode_settings(**{k: v for k, v in (given | values).items() if v is not None})
    known_methods([settings.method])  # both are refused before the model is loaded
    _require_tree(settings.tree)
    return settings


def _require_tree(name: str) -> None:
    """Raise ExplorerError for an invalid tree, before the model is loaded."""
    from explorer.analysis.tree_names import MEASURED_TREES, parse_tree

    if name not in MEASURED_TREES:
        parse_tree(name)


def prompt_from(text: str) -> str:
    """The prompt; `-` reads it from stdin. Raises ExplorerError if it is empty or not text."""
    if text == STDIN:
        text = read_stdin()
    if not text.strip():
        raise ExplorerError("The prompt is empty: write what the model should answer.")
    return require_text(text, "The prompt")


def at_least(least: int):
    """An argparse type: a whole number of `least` or more."""

    def parse(text: str) -> int:
        value = int(text) if text.lstrip("+-").isdecimal() else None
        if value is None or value < least:
            raise argparse.ArgumentTypeError(f"'{text}' is not a whole number of {least} or more")
        return value

    return parse
