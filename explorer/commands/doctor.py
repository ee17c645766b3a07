"""`doctor`: why decoding with these heads is, or is not, faster."""

from __future__ import annotations

import argparse
from typing import Any

from explorer.analysis.diagnosis_case import Finding
from explorer.commands.console import Console, number, table
from explorer.commands.options import add_decode_options, load_lab, settings_from
from explorer.commands.prompts import add_prompts_options
from explorer.figures.checkup_text import HEALTHY, findings_of
from explorer.records.files import write_text
from explorer.records.methods import METHODS
from explorer.records.prompts import BUILT_IN, read_prompts

EXAMPLE = "python -m explorer doctor --html report.html"
PROMPTS, TOKENS = 12, 64


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What only this command takes."""
    add_prompts_options(parser, required=False)
    heads = [method.name for method in METHODS.values() if method.heads]
    parser.add_argument("--method", choices=heads, help="default: of the heads that are loaded")
    parser.add_argument(
        "--html", metavar="FILE", help="write one page to attach to a bug report; it opens offline"
    )
    parser.add_argument(
        "--with-prompts", action="store_true", help="let that page hold the prompts, too"
    )
    add_decode_options(parser)


def execute(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Examine the heads, and write the page if it is asked for."""
    prompts = read_prompts(args.prompts or str(BUILT_IN), args.limit or PROMPTS)
    settings = settings_from(args, max_new_tokens=args.max_new_tokens or TOKENS)
    lab = load_lab(args, console)
    if not args.method:
        settings = settings.model_copy(update={"method": lab.method})
    from explorer.measuring.doctor import examine

    with console.share("doctor") as progress:
        checkup = examine(lab, prompts, settings, progress)
    if args.html:
        from explorer.figures.checkup_page import checkup_page

        texts = [prompt["prompt"] for prompt in prompts] if args.with_prompts else []
        write_text(checkup_page(checkup, texts), args.html, "The report")
        console.say(f"The report is in {args.html}.")
    return checkup.model_dump(mode="json")


def render(result: dict[str, Any]) -> str:
    """Heads, ledger and findings."""
    heads, ledger = result["heads"], result["ledger"]
    rows = [("ideal", "", number(ledger["ideal"], unit="×"), "")]
    rows += [
        (
            term["title"],
            f"{term['change']:+.2f}",
            number(term["after"], unit="×"),
            number(term["if_fixed"], unit="×"),
        )
        for term in ledger["terms"]
    ]
    accuracy = [
        (
            f"head {head['head']}",
            *(number(head["top"][top], 3) for top in head["top"]),
            number(head["given_before"], 3),
            number(head["conditional"], 3),
            number(head["per_position"], 3),
        )
        for head in result["accuracy"]["heads"]
    ]
    names = ("accuracy", "top-1", "top-5", "top-10", "given before", "conditional", "per position")
    return "\n\n".join(
        [
            f"{heads['num_heads']} {heads['architecture']} heads ({heads['kind']}, "
            f"{heads['num_blocks']} blocks) in {heads['format']}: "
            f"{heads['parameters'] / 1e6:.1f} M parameters, {heads['bytes'] / 1e6:.1f} MB a step.",
            *heads["differences"],
            table(names, accuracy),
            table(("speedup ledger", "change", "speedup", "if fixed"), rows),
            f"Plain {result['plain_tokens_per_second']:.1f} tokens/s, {result['method']} "
            f"{result['tokens_per_second']:.1f}: {ledger['measured']:.2f}×.",
            *_findings(result["findings"]),
        ]
    )


def _findings(findings: list[dict[str, Any]]) -> list[str]:
    if not findings:
        return [HEALTHY]
    rows = findings_of([Finding.model_validate(found) for found in findings])
    return [
        f"{place}. {title} ({costs})\n   {evidence}\n   {remedy}"
        for place, (title, costs, evidence, remedy) in enumerate(rows, start=1)
    ]
