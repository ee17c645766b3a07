"""Learn, and Explore with the recorded runs, as a folder of static files.

It opens from a disk and from any static host, in whatever folder it lies there: every address is
relative, and where a browser would fetch a file or load a module, which it does not do from a
disk, a script holds it (assets/site/site.js).
"""

from __future__ import annotations

import json
import os
import tempfile
from base64 import b64encode
from collections.abc import Iterator, Mapping
from pathlib import Path

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from explorer.learn.chapters import chapters
from explorer.learn.document import Place, data_json, document
from explorer.learn.modules import classic
from explorer.learn.pages import navigation
from explorer.records.errors import ExplorerError
from explorer.records.methods import shown_methods
from explorer.records.paths import ASSETS
from explorer.records.settings import setting_words

RECORDED = ASSETS / "compare" / "recorded.json"  # a comparison of all methods, if there is one
# Folders of the site, and those of assets/ that they come from.
FOLDERS = {
    "step_explorer": "step_explorer",
    "traces": "traces",
    "ui-files": "ui",
    "learn-files": "learn",
    "site": "site",
    "compare": "compare",
}
NOTE = (
    "What is shown here was recorded. To run your own prompts, and for all pages, start the app: "
    "it needs Python and fetches a model of 98 MB (make run; the README says more)."
)
# The Compare page offers no choice where nothing can be run.
NOTHING_TO_RUN = {
    "runs": False,
    "builtin": [],
    "trees": [],
    "freeTree": False,
    "words": setting_words("max_new_tokens", "tree"),
    "maxPrompts": 0,
    "maxTokens": 0,
    "maxCharacters": 0,
    "maxFile": 0,
    "newTokens": 0,
}
MANIFEST, PRODUCT = "site-files.json", "Medusa Explorer"  # what a later `site` may replace
_NOT_SERVED = {".html", ".md"}
_FETCHED = {".json", ".gz", ".js", ".css"}  # asked for by a page's code, if only to save a run


def write_site(out: Path) -> list[Path]:
    """Write the site to a folder that is new, empty or holds an earlier site. Raises ExplorerError.

    Of an earlier site the files that it wrote are replaced, once all of the new one lie beside
    them; files that somebody else put there stay. Returns the files.
    """
    earlier = _earlier_files(out)
    files = dict(_files())
    listed = {"product": PRODUCT, "files": [*files, MANIFEST]}
    files[MANIFEST] = json.dumps(listed, indent=1).encode()
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out, prefix=".new-") as new:
            for name, content in files.items():
                _write(Path(new) / name, content)
            for name in earlier:
                (out / name).unlink(missing_ok=True)
            for name in files:
                (out / name).parent.mkdir(parents=True, exist_ok=True)
                os.replace(Path(new) / name, out / name)
    except OSError as error:
        raise ExplorerError(
            f"The site cannot be written to {out} ({error.strerror}): choose another folder."
        ) from error
    return [out / name for name in files]


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _earlier_files(out: Path) -> list[str]:
    """The files of an earlier site in the folder, by its own list. Raises ExplorerError."""
    if out.is_symlink() and not out.exists():
        raise ExplorerError(f"{out} is a link that leads nowhere: choose a folder.")
    if out.exists() and not out.is_dir():
        raise ExplorerError(f"{out} is a file: choose a folder.")
    if out.resolve().is_relative_to(ASSETS.resolve()):
        raise ExplorerError(f"{out} belongs to the product itself: choose a folder of your own.")
    if not out.is_dir() or not any(out.iterdir()):
        return []
    names = _listed(out / MANIFEST)
    if names is None:
        raise ExplorerError(f"{out} holds other files: choose a new or an empty folder.")
    root = out.resolve()
    return [name for name in names if (root / name).resolve().is_relative_to(root)]


def _listed(manifest: Path) -> list[str] | None:
    """The names in an earlier site's list; None where this is none."""
    try:
        known = json.loads(manifest.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(known, dict) or known.get("product") != PRODUCT:
        return None
    names = known.get("files")
    return [str(name) for name in names] if isinstance(names, list) else None


def _files() -> Iterator[tuple[str, bytes]]:
    """Every file of the site by its path."""
    pages = _pages()
    yield "index.html", _page("explore.html", "Explore", pages)
    if "Compare" in pages:
        setup = json.dumps({"methods": shown_methods(), **NOTHING_TO_RUN})
        yield "compare.html", _page("compare.html", "Compare", pages, setup=Markup(setup))
    place = Place(pages, script="site.js", main="learn-files/main.js", live="")
    yield "learn.html", document(place).encode()
    yield "site.js", (ASSETS / "site" / "site.js").read_bytes()
    for chapter in chapters():
        yield from _with_script(f"learn-data/{chapter.key}.json", _data(chapter.key))
    for folder, source in FOLDERS.items():
        for path in sorted((ASSETS / source).rglob("*")):
            name = f"{folder}/{path.relative_to(ASSETS / source).as_posix()}"
            if path.is_file() and _served(path):
                yield from _of_assets(name, path)


def _served(path: Path) -> bool:
    snippet = path.name == "gradio.js" or (path.parent.name == "ui" and path.suffix == ".js")
    typeset = path.parent.name == "typeset"  # stands in the document
    return path.suffix not in _NOT_SERVED and not snippet and not typeset


def _of_assets(name: str, path: Path) -> Iterator[tuple[str, bytes]]:
    content = path.read_bytes()
    if path.suffix == ".js" and name != "site/site.js":
        script = classic(name, content.decode("utf-8"))
        yield f"{name.removesuffix('.js')}.classic.js", script.encode()
    if path.suffix in _FETCHED:
        yield from _with_script(name, content)
    else:
        yield name, content


def _with_script(name: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    yield name, content
    script = f'medusa.file("{name}", "{b64encode(content).decode()}");\n'
    yield f"{name}.data.js", script.encode()


def _data(key: str) -> bytes:
    return (data_json(key) or "{}").encode()


def _pages() -> dict[str, str]:
    compare = {"Compare": "compare.html"} if RECORDED.exists() else {}
    return {"Explore": "index.html", **compare, "Learn": "learn.html"}


def _page(template: str, name: str, pages: Mapping[str, str], **more: object) -> bytes:
    text = (ASSETS / "site" / template).read_text(encoding="utf-8")
    environment = Environment(undefined=StrictUndefined, autoescape=True)
    links = Markup(navigation(name, pages))
    html = environment.from_string(text).render(navigation=links, note=NOTE, **more)
    return html.encode()
