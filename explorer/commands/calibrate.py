"""`calibrate`: the cost curve of this machine, the heads' accuracy, and the best tree."""

from __future__ import annotations

import argparse
from typing import Any

from explorer.commands.console import Console, number, table
from explorer.commands.options import load_lab, settings_from
from explorer.commands.prompts import add_prompts_options
from explorer.records.numbers import count
from explorer.records.prompts import BUILT_IN, read_prompts

EXAMPLE = "python -m explorer calibrate --prompts assets/prompts.jsonl --json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command only."""
    add_prompts_options(parser, required=False)
    parser.add_argument(
        "--max-new-tokens", type=int, metavar="N", help="tokens of each prompt (default 128)"
    )
    parser.add_argument(
        "--batches",
        action="store_true",
        help="also measure passes over 1, 2, 4 and 8 sequences, and estimate where the gain ends",
    )
    parser.add_argument(
        "--out", metavar="FILE", help="write the cost curves to a small JSON file, to share"
    )
    parser.add_argument(
        "--measured-by", default="", metavar="NAME", help="who measured it, for the file"
    )


def execute(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Measure, and save the result for `--tree auto`."""
    prompts = read_prompts(args.prompts or str(BUILT_IN), args.limit)
    settings = settings_from(args)
    lab = load_lab(args, console)
    if lab.heads:
        settings = settings.model_copy(update={"method": lab.method})  # of the heads at hand
    from explorer.analysis.calibration import shared_costs
    from explorer.measuring.batch import measure_batches
    from explorer.measuring.calibration import calibrate
    from explorer.measuring.decoded import decode_texts

    with console.share("calibrate") as progress:
        decoded = decode_texts(lab, prompts, settings, progress)
        calibration = calibrate(lab, prompts, settings.method, decoded=decoded, progress=progress)
    result = calibration.model_dump(mode="json") | {
        "sentence": calibration.sentence,
        "pays": calibration.pays,
    }
    if args.batches:
        with console.share("batches") as progress:
            report = measure_batches(
                lab, prompts, settings.method, decoded=decoded, progress=progress
            )
        result["batches"] = report.model_dump(mode="json")
    if args.out:
        from explorer.analysis.cost_file import write_costs

        batches = report.curves if args.batches else {}
        write_costs(shared_costs(calibration, batches, args.measured_by), args.out)
        result["out"] = args.out
    return result


def render(result: dict[str, Any]) -> str:
    """The cost curves, the heads' accuracies, and whether speculation pays here."""
    curves = result["cost_curve"]
    header = ("rows", *(f"C(n), context {curve['context_length']}" for curve in curves))
    ratios = [dict(zip(curve["rows"], curve["ratios"], strict=True)) for curve in curves]
    costs = [
        (str(rows), *(number(ratio.get(rows)) for ratio in ratios)) for rows in curves[0]["rows"]
    ]
    heads = [
        (f"head {k}", *(number(value, 3) for value in [*ranks, None, None, None][:3]))
        for k, ranks in enumerate(result["head_accuracy"], start=1)
    ]
    tree = " ".join(str(tuple(path)).replace(" ", "") for path in result["tree"])
    return "\n\n".join(
        [
            table(header, costs),
            table(("accuracy", "first", "second", "third"), heads),
            f"best tree, by {count(result['positions'])} positions decoded here: {tree}",
            result["sentence"],
            *(_batches(result["batches"]) if "batches" in result else []),
            *([f"The costs are in {result['out']}."] if "out" in result else []),
        ]
    )


def _batches(report: dict[str, Any]) -> list[str]:
    """Passes by batch size, and the expected gain of speculation."""
    sizes, rows = report["sizes"], report["sizes"][0]["cost_curve"]["rows"]
    costs = [
        (str(size["batch"]), *(number(ratio) for ratio in size["cost_curve"]["ratios"]))
        for size in sizes
    ]
    gains = [
        (
            str(size["batch"]),
            number(size["plain_tokens_per_second"], 1),
            number(size["tokens_per_second"], 1),
            number(size["speedup"], unit="×"),
            str(size["best_rows"]),
            number(size["best_speedup"], unit="×"),
        )
        for size in sizes
    ]
    method = report["method"]
    header = ("batch", "plain tokens/s", f"{method}, estimate", "speedup", "best rows", "speedup")
    return [
        table(("batch, T(b·n)/T(b·1)", *(f"n = {n}" for n in rows)), costs),
        table(header, gains),
        f"{report['sentence']} Most rows a second: {report['most_rows_per_second']:.0f}.",
    ]
