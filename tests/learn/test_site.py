"""The site without a server: its files, and modules as plain scripts."""

import json
import re

import pytest

from explorer.learn import site as site_files
from explorer.learn.modules import NotRewrittenError, classic
from explorer.learn.site import FOLDERS, MANIFEST, write_site
from explorer.records.errors import ExplorerError
from explorer.records.paths import ASSETS
from tests.node import run_node

LIMIT = 6_000_000  # bytes


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    out = tmp_path_factory.mktemp("site") / "public"
    write_site(out)
    return out


def test_it_is_small_and_complete(site):
    files = [path for path in site.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < LIMIT
    names = {path.relative_to(site).as_posix() for path in files}
    assert {"index.html", "learn.html", "site.js", "learn-data/memory_wall.json"} <= names
    assert "traces/code.json.gz.data.js" in names
    assert not [name for name in names if name.endswith((".md", "gradio.js"))]


def test_compare_is_there_if_a_comparison_was_recorded(tmp_path, monkeypatch):
    for exists in (True, False):
        recorded = tmp_path / f"{exists}.json"
        if exists:
            recorded.write_text("{}", encoding="utf-8")
        monkeypatch.setattr(site_files, "RECORDED", recorded)
        out = tmp_path / f"site-{exists}"
        write_site(out)
        assert (out / "compare.html").exists() == exists
        for page in ("index.html", "learn.html"):
            assert ('href="compare.html"' in (out / page).read_text(encoding="utf-8")) == exists


def test_every_address_is_relative_and_there(site):
    for page in ("index.html", "learn.html"):
        text = (site / page).read_text(encoding="utf-8")
        for address in re.findall(r'(?:href|src|data-main)="([^"#:]+)["#]', text):
            name = address.replace("site/explore.js", "site/explore.classic.js")
            name = name.replace("learn-files/main.js", "learn-files/main.classic.js")
            assert (site / name).is_file(), f"{page}: {address}"


def test_every_module_a_script_needs_is_there(site):
    for path in site.rglob("*.classic.js"):
        needs = re.match(r'medusa\.define\("[^"]+", (\[.*?\])', path.read_text(encoding="utf-8"))
        assert needs
        for name in re.findall(r'"([^"]+)\.js"', needs[1]):
            assert (site / f"{name}.classic.js").is_file(), f"{path.name} needs {name}"


def test_it_replaces_an_earlier_site_and_nothing_else(site, tmp_path):
    manifest = json.loads((site / MANIFEST).read_text())
    manifest["files"] += ["learn-data/gone.json", "../outside.txt"]
    (site / MANIFEST).write_text(json.dumps(manifest))
    for kept in (site.parent / "outside.txt", site / "learn-data" / "mine.txt"):
        kept.write_text("precious")
    (site / "learn-data" / "gone.json").write_text("{}")
    write_site(site)
    assert not (site / "learn-data" / "gone.json").exists()
    assert (site / "learn-data" / "mine.txt").exists()
    assert (site.parent / "outside.txt").exists()
    assert not list(site.glob(".new-*"))
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(ExplorerError, match="other files"):
        write_site(tmp_path)
    with pytest.raises(ExplorerError, match="is a file"):
        write_site(tmp_path / "precious.txt")
    assert set(FOLDERS) < {path.name for path in site.iterdir()}


@pytest.mark.parametrize("name", ["site.js", MANIFEST])
def test_a_folder_with_a_like_named_file_is_no_earlier_site(tmp_path, name):
    (tmp_path / name).write_text("[]")
    with pytest.raises(ExplorerError, match="other files"):
        write_site(tmp_path)


def test_the_product_and_a_link_to_nowhere_are_no_place_for_it(tmp_path):
    with pytest.raises(ExplorerError, match="belongs to the product"):
        write_site(ASSETS / "site")
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    with pytest.raises(ExplorerError, match="leads nowhere"):
        write_site(tmp_path / "nowhere")


def test_a_full_disk_leaves_the_earlier_site(tmp_path, monkeypatch):
    write_site(tmp_path / "public")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "public").rglob("*.html")}

    def full(path, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(site_files, "_write", full)
    with pytest.raises(ExplorerError, match="No space left"):
        write_site(tmp_path / "public")
    assert before == {path: path.stat().st_mtime_ns for path in before}


MODULE = """\
import { one, two as zwei } from "./other.js";
import * as all from "../far/all.js";

export { three } from "./other.js";

/** @import { Four } from "./types.js" */
export const [FIVE, SIX] = [5, 6];
export async function seven() {
  return [one, zwei, all.name, import.meta.url, await import("./late.js")];
}
export class Eight {}
const private_ = `import { x } from "y"`;
export const nine = () => private_;
const ten = 10;
export { ten };
"""


def test_a_module_becomes_a_script_that_does_the_same():
    script = classic("here/it.js", MODULE)
    run = """
      let made;
      globalThis.medusa = { define: (name, needs, make) => { made = { name, needs, make }; } };
      %s
      const exports = {};
      const needed = [{ one: 1, two: 2, three: 3 }, { name: "all" }];
      made.make(needed, exports, { url: "URL" }, async (path) => path);
      console.log(JSON.stringify([made.name, made.needs, await exports.seven(),
        exports.FIVE, exports.SIX, exports.three, exports.nine(), Object.keys(exports).sort()]));
    """
    done = run_node("--input-type=module", "--eval", run % script)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == (
        '["here/it.js",["here/other.js","far/all.js"],[1,2,"all","URL","./late.js"],5,6,3,'
        '"import { x } from \\"y\\"",["Eight","FIVE","SIX","nine","seven","ten","three"]]'
    )


@pytest.mark.parametrize(
    "line", ["export default 1;", 'import x from "./y.js";', 'import "./z.js";']
)
def test_a_form_that_is_not_known_is_refused(line):
    with pytest.raises(NotRewrittenError, match="it"):
        classic("it.js", f"{line}\n")
