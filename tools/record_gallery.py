"""Records the gallery's traces with the default model: `python tools/record_gallery.py [NAME …]`.

Each is a whole race, timed on the machine that runs this, so run it on a quiet one.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import explorer  # noqa: E402
from explorer.tracing.events import TraceBuilder  # noqa: E402
from explorer.tracing.files import write_trace  # noqa: E402

FOLDER = ROOT / "assets" / "traces"


def main(names: list[str]) -> None:
    """Record the named entries of the index, or all of them."""
    lab = explorer.load()
    for entry in json.loads((FOLDER / "index.json").read_text(encoding="utf-8")):
        if names and entry["name"] not in names:
            continue
        builder = TraceBuilder()
        settings = explorer.DecodeSettings(**entry["settings"])
        for event in lab.race(entry["prompt"], settings):
            builder.add(event)
        path = write_trace(builder.trace(), FOLDER / entry["file"])
        print(f"{path.name}: {len(builder.steps)} steps, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
