"""Records the class of Learn's chapter on training: `python tools/record_class.py`.

Heads are trained for ninety seconds on the default model, as the page does it live; how far they
get depends on the machine, which the record names.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import explorer  # noqa: E402
from explorer.lab.taught import taught  # noqa: E402
from explorer.records.paths import ASSETS  # noqa: E402
from explorer.training.class_record import Begun  # noqa: E402
from explorer.training.classroom import Lesson  # noqa: E402

FILE = ASSETS / "learn" / "class.json"
DATA = ASSETS / "training" / "conversations.jsonl.gz"


def main() -> None:
    """Train, and write what was seen."""
    lab = explorer.load(heads="none")
    with tempfile.TemporaryDirectory() as folder:
        seen = list(filter(None, taught(lab, Lesson(DATA, Path(folder)))))
    begun = next(one for one in seen if isinstance(one, Begun))
    frames = [one for one in seen if isinstance(one, dict) and "update" in one]
    record = begun.record | {"frames": frames}
    FILE.write_text(json.dumps(record, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    for frame in frames:
        print(frame["seconds"], frame["update"], frame["top1"], frame["race"])


if __name__ == "__main__":
    main()
