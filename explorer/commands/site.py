"""`site`: Learn, and Explore with the recorded runs, as static files."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from explorer.commands.console import Console

EXAMPLE = "python -m explorer site public"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command only."""
    parser.add_argument("out", metavar="OUT", help="folder to write: a new one, or an earlier site")


def execute(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Write the folder. No model is loaded."""
    from explorer.learn.site import write_site

    out = Path(args.out).expanduser()
    files = write_site(out)
    return {
        "folder": str(out),
        "start": str(out / "index.html"),
        "files": len(files),
        "bytes": sum(path.stat().st_size for path in files),
    }


def render(result: dict[str, Any]) -> str:
    """The result in words."""
    return (
        f"{result['files']} files, {result['bytes'] / 1e6:.1f} MB. Open {result['start']} in a "
        "browser, or put the folder on any static host."
    )
