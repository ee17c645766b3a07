"""Records what Learn shows where no model is loaded: `python -m tools.record_faults [FAULT …]`.

Runs the default model with planted faults (explorer/measuring/planted_faults.py), all of them or
those that are named, and writes the reports to assets/learn/faults.json beside those of the others.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime

import explorer
from explorer.measuring.planted_faults import run_with_fault
from explorer.records.faults import FAULTS
from explorer.records.paths import ASSETS

PATH = ASSETS / "learn" / "faults.json"

if __name__ == "__main__":
    known = json.loads(PATH.read_text(encoding="utf-8"))["reports"] if PATH.exists() else []
    reports = {report["fault"]: report for report in known}
    lab = explorer.load()
    for fault in sys.argv[1:] or FAULTS:
        report = run_with_fault(lab, fault)
        reports[fault] = report.model_dump()
        print(fault, report.caught_by, report.audit, report.bits, report.chi, flush=True)
        written = {
            "recorded": datetime.now(UTC).date().isoformat(),
            "reports": [reports[fault] for fault in FAULTS if fault in reports],
        }
        PATH.write_text(json.dumps(written, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
