"""`python -m explorer.weights.fetch`: download the default model ahead of time."""

from __future__ import annotations

import sys

from explorer.records.errors import ExplorerError
from explorer.weights.sources import default_gguf


def main() -> int:
    """Print the path of the default model. Returns the exit status."""
    said = ""

    def progress(text: str, fraction: float | None) -> None:
        nonlocal said
        action = text.partition(" (")[0]
        if action != said:
            said = action
            print(action, file=sys.stderr, flush=True)

    try:
        print(default_gguf(progress))
    except ExplorerError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
