"""`perplexity`: the perplexity of texts by acceptance rule and temperature."""

from __future__ import annotations

import argparse
from typing import Any

from explorer.commands.console import Console, number, table
from explorer.commands.options import (
    add_length_options,
    add_setting,
    add_typical_options,
    load_lab,
    settings_from,
)
from explorer.commands.prompts import add_prompts_options
from explorer.records.errors import ExplorerError
from explorer.records.prompts import read_prompts
from explorer.records.settings import decode_settings

EXAMPLE = (
    "python -m explorer perplexity --prompts assets/prompts.jsonl --acceptance sample,typical "
    "--temperatures 0.7,1.0 --json"
)
HANDED_OVER = ("method", "tree", "max_new_tokens", "seed", "epsilon", "delta", "root_rule")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command only."""
    add_prompts_options(parser)
    parser.add_argument(
        "--temperatures", default="0.3,0.7,1.0", metavar="T,T,…", help="(default 0.3,0.7,1.0)"
    )
    parser.add_argument(
        "--acceptance",
        dest="rules",
        default="greedy,sample,typical",
        metavar="RULE,RULE,…",
        help="(default greedy,sample,typical)",
    )
    parser.add_argument("--method", metavar="M", help="the method that writes (default medusa)")
    add_setting(parser, "seed", "S")
    add_typical_options(parser)
    add_length_options(parser)


def execute(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Write and score."""
    prompts, settings = read_prompts(args.prompts, args.limit), settings_from(args)
    rules, temperatures = _names(args.rules), [_temperature(t) for t in _names(args.temperatures)]
    lab = load_lab(args, console)
    from explorer.measuring.perplexity import measure_perplexity

    with console.share("perplexity") as progress:
        report = measure_perplexity(
            lab,
            prompts,
            rules,
            temperatures,
            progress=progress,
            **{name: getattr(settings, name) for name in HANDED_OVER},
        )
    return report.model_dump(mode="json")


def render(result: dict[str, Any]) -> str:
    """A row for each rule at each temperature."""
    rows = [
        (
            found["rule"],
            number(found["temperature"], 1),
            "yes" if found["lossless"] else "no",
            str(found["tokens"]),
            number(found["tokens_per_step"]),
            _between(found["perplexity"]),
            _between(found["over_sample"]),
        )
        for found in result["figures"]
    ]
    header = ("rule", "temperature", "lossless", "tokens", "tokens/step")
    return (
        f"{table((*header, 'perplexity (95 %)', 'over sample (95 %)'), rows)}\n\n"
        f"Under the base model at temperature 1, {result['prompts']} prompts."
    )


def _between(interval: dict[str, float | None] | None) -> str:
    if interval is None:
        return "–"
    if interval["low"] is None:
        return number(interval["value"])
    return f"{number(interval['value'])} ({number(interval['low'])}–{number(interval['high'])})"


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _temperature(text: str) -> float:
    try:
        temperature = float(text)
    except ValueError:
        raise ExplorerError(f"--temperatures: '{text:.40}' is not a number; try 0.7,1.0.") from None
    return decode_settings(temperature=temperature).temperature  # refused before the model loads
