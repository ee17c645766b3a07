"""Records the gallery's traces with the default model: `python tools/record_gallery.py [NAME …]`.

Each is a whole race, timed on the machine that runs this, so run it on a quiet one.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import explorer  # noqa: E402
from explorer.tracing.events import TraceBuilder  # noqa: E402
from explorer.tracing.files import write_trace  # noqa: E402
from explorer.ui.examples import EXAMPLES, INDEX  # noqa: E402


def main(names: list[str]) -> None:
    """Record the named entries of the index, or all of them."""
    lab = explorer.load()
    for example in EXAMPLES:
        if example.file is None or (names and example.name not in names):
            continue
        builder = TraceBuilder()
        settings = explorer.DecodeSettings(**example.settings, **example.recorded)
        for event in lab.race(example.prompt, settings):
            builder.add(event)
        path = write_trace(builder.trace(), INDEX.parent / example.file)
        print(f"{path.name}: {len(builder.steps)} steps, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
