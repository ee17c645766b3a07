"""Records what the Compare page shows without a model: `python tools/record_comparison.py`.

It is the page's own default: every method that can run, one prompt of each category. It is timed on
the machine that runs this, so run it on a quiet one. `--sentences` measures nothing: it computes
again what follows from the figures that are recorded.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import explorer  # noqa: E402
from explorer.measuring.bench_report import BenchReport  # noqa: E402
from explorer.measuring.comparison import comparison  # noqa: E402
from explorer.records.methods import METHODS  # noqa: E402
from explorer.records.paths import ASSETS  # noqa: E402
from explorer.records.prompts import Prompt  # noqa: E402
from explorer.ui.compare_page import DEFAULT_NEW_TOKENS  # noqa: E402
from explorer.ui.compare_request import built_in_prompts  # noqa: E402

FILE = ASSETS / "compare" / "recorded.json"


def main() -> None:
    """Write what the page's JSON button would save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", action="store_true", help="without measuring")
    report, prompts = recorded() if parser.parse_args().sentences else measured()
    record = report.model_dump(mode="json") | {"asked_prompts": prompts}
    FILE.write_text(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n", "utf-8")
    print(report.fastest)


def recorded() -> tuple[BenchReport, list[Prompt]]:
    """The comparison that was measured last."""
    record = json.loads(FILE.read_text("utf-8"))
    return BenchReport.model_validate(record), record["asked_prompts"]


def measured() -> tuple[BenchReport, list[Prompt]]:
    """The default comparison on this machine."""
    prompts = first_of_each(built_in_prompts())
    report = None
    for turn in comparison(explorer.load(), prompts, list(METHODS), DEFAULT_NEW_TOKENS):
        print(turn.text, file=sys.stderr)
        report = turn.report or report
    assert report is not None  # a comparison that is not cancelled ends with one
    return report, prompts


def first_of_each(prompts: tuple[Prompt, ...]) -> list[Prompt]:
    """The first prompt of each category."""
    found: dict[str, Prompt] = {}
    for prompt in prompts:
        found.setdefault(prompt.get("category", ""), prompt)
    return list(found.values())


if __name__ == "__main__":
    main()
