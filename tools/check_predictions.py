"""How close the predicted speedup of a fixed tree comes to the measured one.

    python tools/check_predictions.py --limit 48

The prompts are decoded once with one fixed tree. On that record every other tree is replayed, at
the cost curve that is measured meanwhile: the prediction. Then every tree races plain decoding on
the same prompts: the measurement. Prints one JSON object; progress goes to stderr. Exit status 1
where a prediction is further off than --within.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import explorer  # noqa: E402
from explorer.analysis.cost_curve import CostCurve  # noqa: E402
from explorer.analysis.joint_counts import ranked_text  # noqa: E402
from explorer.analysis.ledger import Ledger, ledger  # noqa: E402
from explorer.analysis.step_times import overhead_of  # noqa: E402
from explorer.analysis.tree_lab import TreeLab  # noqa: E402
from explorer.measuring.cost_curve import measure_cost_curve  # noqa: E402
from explorer.measuring.lab_protocol import LabProtocol  # noqa: E402
from explorer.records.errors import ExplorerError  # noqa: E402
from explorer.records.events import finished  # noqa: E402
from explorer.records.prompts import Prompt, read_prompts  # noqa: E402
from explorer.records.rank_paths import parse_paths  # noqa: E402
from explorer.records.schema import Trace  # noqa: E402
from explorer.records.settings import decode_settings  # noqa: E402

PROMPTS = ROOT / "assets" / "dev_prompts.jsonl"
RECORDED = "cartesian:2,1"  # the tree of the record
TREES = ("chain:1", "chain:3", "cartesian:3,1", "cartesian:3,2,1", "best")
ROUNDS = 15  # of the cost curve
BEST = "best"  # the fixed tree that the record predicts to be fastest


def check(
    lab: LabProtocol, prompts: Sequence[Prompt], trees: Sequence[str], max_new_tokens: int
) -> list[dict[str, Any]]:
    """One line for each tree: predicted and measured speedup, and their tokens per step."""
    record = _races(lab, prompts, RECORDED, max_new_tokens)
    predictor = TreeLab(
        [ranked_text(trace) for trace in record], _curve_of(lab, record), overhead_of(record)
    )
    lines = []
    for name in trees:
        best = predictor.best_shape() if name == BEST else None
        paths = best[0] if best else parse_paths("chain:1" if name == BEST else name)
        written = json.dumps([list(path) for path in paths])
        measured = _ledger(_races(lab, prompts, written, max_new_tokens))
        predicted = predictor.speedup(paths)
        lines.append(
            {
                "tree": name,
                "nodes": len(paths),
                "predicted": predicted,
                "measured": measured.measured,
                "error": predicted / measured.measured - 1,
                "predicted_tokens_per_step": predictor.tokens_per_step(paths),
                "measured_tokens_per_step": measured.tokens_per_step,
            }
        )
    return lines


def _curve_of(lab: LabProtocol, record: Sequence[Trace]) -> CostCurve:
    """C(n) at the record's mean context length."""
    lengths = [step.context_length for trace in record for step in trace.steps]
    context = round(sum(lengths) / len(lengths))
    return measure_cost_curve(lab.model, context_length=context, rounds=ROUNDS)


def _races(
    lab: LabProtocol, prompts: Sequence[Prompt], tree: str, max_new_tokens: int
) -> list[Trace]:
    settings = decode_settings(method="medusa", tree=tree, max_new_tokens=max_new_tokens)
    shown = tqdm(prompts, desc=tree[:40], disable=None)
    runs = (finished(lab.race(prompt["prompt"], settings), None) for prompt in shown)
    return [trace for trace in runs if trace is not None]


def _ledger(traces: Sequence[Trace]) -> Ledger:
    found = ledger(traces)
    if found is None:
        raise ExplorerError("The replies are too short to measure: allow more new tokens.")
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Check the default model on this machine. Returns the exit status."""
    options = argparse.ArgumentParser(description="Check predicted speedups.")
    options.add_argument("--prompts", default=str(PROMPTS), metavar="FILE")
    options.add_argument("--limit", type=int, metavar="N")
    options.add_argument("--max-new-tokens", type=int, default=128, metavar="N")
    options.add_argument("--trees", nargs="+", default=list(TREES), metavar="TREE")
    options.add_argument("--within", type=float, default=0.08, metavar="SHARE")
    args = options.parse_args(argv)
    prompts = read_prompts(args.prompts, args.limit)
    lines = check(explorer.load(), prompts, args.trees, args.max_new_tokens)
    print(json.dumps({"prompts": len(prompts), "within": args.within, "trees": lines}, indent=1))
    return int(any(abs(line["error"]) > args.within for line in lines))


if __name__ == "__main__":
    sys.exit(main())
