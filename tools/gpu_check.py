"""Checks and measures this machine's GPU: `make gpu-check`, or `python -m tools.gpu_check`.

Builds a Llama-7B-shaped model with seeded random weights in NF4, so nothing is downloaded, and
writes report.json, costs.json (for the Tree lab) and index.html into a folder. `--tiny --device
cpu` runs the same code on a small shape without a GPU; its figures say nothing about one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from explorer.analysis.cost_file import write_costs
from explorer.analysis.gpu_report import GpuReport
from explorer.analysis.tree_names import parse_tree
from explorer.decoding.tree import Tree
from explorer.figures.gpu_page import gpu_page
from explorer.lab.lab import Lab
from explorer.measuring.gpu_check.made_up import LLAMA_7B, TINY, made_up_heads, made_up_model
from explorer.measuring.gpu_check.report import gpu_report
from explorer.measuring.head_set import HeadSet
from explorer.measuring.peak_memory import forget_peak
from explorer.models.backends import choose_device
from explorer.models.memory_full import full_memory_explained
from explorer.records.errors import ExplorerError

OUT = Path("build/gpu")


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status 0: all checks hold; 1: one fails; 2: it cannot be run here."""
    args = parser().parse_args(argv)
    try:
        report = check(args)
    except ExplorerError as error:
        print(error, file=sys.stderr)
        return 2
    for each in report.checks:
        print(f"{'ok  ' if each.ok else 'FAIL'} {each.name}: {each.measured:.4g} ({each.of})")
    for bar in report.bars:
        said = {True: "met", False: "missed", None: "not judged"}[bar.met]
        print(f"{bar.name} {bar.bar}: {bar.measured} ({said})")
    print(f"{args.out / 'index.html'}, report.json and costs.json are written.")
    return 0 if all(each.ok for each in report.checks) else 1


def parser() -> argparse.ArgumentParser:
    """The options."""
    out = argparse.ArgumentParser(description="Checks and measures a GPU.", allow_abbrev=False)
    out.add_argument("--tiny", action="store_true", help="a small shape, few rounds")
    out.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    out.add_argument("--out", type=Path, default=OUT, metavar="FOLDER", help=f"default {OUT}")
    return out


def check(args: argparse.Namespace) -> GpuReport:
    """Measure, and write the three files. Raises ExplorerError."""
    if args.device == "cpu" and not args.tiny:
        raise ExplorerError("A 7B model is not for a CPU: give --tiny with --device cpu.")
    device, shape = choose_device(args.device), TINY if args.tiny else LLAMA_7B
    with full_memory_explained("checking the GPU"), torch.inference_mode():
        say("building the model")
        forget_peak(device)
        model = made_up_model(shape, device)
        heads = made_up_heads(model, shape, "own")
        tree = parse_tree(shape.tree)
        assert isinstance(tree, Tree)
        trees = {128: tree}
        lab = Lab(model, {"medusa": HeadSet(heads, "random heads", trees, trees)})
        report = gpu_report(lab, shape, tree, quick=args.tiny, say=say)
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "report.json").write_text(report.model_dump_json(indent=1) + "\n")
    write_costs(report.costs(), args.out / "costs.json")
    (args.out / "index.html").write_text(gpu_page(report), encoding="utf-8")
    return report


def say(line: str) -> None:
    """Progress, on stderr."""
    print(f"… {line}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
