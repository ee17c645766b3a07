"""Typesets the formulas of Learn's texts by KaTeX: `python -m tools.page_formulas`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sysconfig
from pathlib import Path

from explorer.learn.symbols import marked
from explorer.learn.typeset import FORMULAS, TEXTS, file_of, formulas_in, name_of

RENDER = Path(__file__).parent / "katex" / "render.mjs"


def typeset(formulas: list[tuple[str, bool]]) -> list[str]:
    """HTML of each (TeX, display). Raises CalledProcessError for TeX that KaTeX refuses."""
    node = shutil.which("node", path=sysconfig.get_path("scripts")) or "node"
    asked = json.dumps([[marked(tex), display] for tex, display in formulas])
    done = subprocess.run(
        [node, str(RENDER)], input=asked, stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout)


def files() -> dict[Path, str]:
    """The content of each chapter's file."""
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(TEXTS.glob("*.md"))}
    asked = {key: found for key, text in texts.items() if (found := formulas_in(text))}
    html = iter(typeset([formula for found in asked.values() for formula in found]))
    return {
        file_of(key): json.dumps(
            {name_of(*formula): next(html) for formula in found}, ensure_ascii=False, indent=1
        )
        + "\n"
        for key, found in asked.items()
    }


if __name__ == "__main__":
    written = files()
    FORMULAS.mkdir(exist_ok=True)
    for path in set(FORMULAS.glob("*.json")) - set(written):
        path.unlink()
    for path, text in written.items():
        path.write_text(text, encoding="utf-8")
    print(f"{len(written)} files in {FORMULAS.name}/")
