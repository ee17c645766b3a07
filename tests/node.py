"""The page's modules, run by Node: what needs no browser needs no page."""

from __future__ import annotations

import json
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 60


def run_node(*arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    """Run the Node of requirements-dev.txt in the repository."""
    node = shutil.which("node", path=sysconfig.get_path("scripts"))
    assert node, "node is missing: pip install -r requirements-dev.txt"
    return subprocess.run(
        [node, *arguments], cwd=ROOT, input=given, capture_output=True, text=True, timeout=SECONDS
    )


def ask_module(name: str, expression: str, given: object = None) -> Any:
    """The value of an expression on `module`, the module assets/NAME, and on `given`."""
    script = (
        f"const module = await import('./assets/{name}');"
        "const given = JSON.parse(await new Response(process.stdin).text());"
        f"process.stdout.write(JSON.stringify(await ({expression})));"
    )
    done = run_node("--input-type=module", "--eval", script, given=json.dumps(given))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
