"""The page's type checker reads the records as Python has them."""

from __future__ import annotations

import subprocess
import sys

from tests.node import ROOT

TOOL = ROOT / "tools" / "page_types.py"
PATH = ROOT / "types" / "records.d.ts"


def test_the_types_of_the_records_are_up_to_date():
    script = f"import runpy; print(runpy.run_path({str(TOOL)!r})['declarations'](), end='')"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == PATH.read_text(encoding="utf-8"), "run python tools/page_types.py"
