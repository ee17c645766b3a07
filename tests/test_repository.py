"""What holds for the repository as a whole: set-up files, layers, and what must not be in it."""

import ast
import graphlib
import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "explorer"
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}
# Each package imports only from itself and from those before it (ARCHITECTURE.md).
ORDER = (
    "records",
    "weights",
    "kernels",
    "models",
    "heads",
    "decoding",
    "recording",
    "analysis",
    "measuring",
    "training",
    "lab",
    "serving",
    "figures",
    "learn",
    "commands",
    "ui",
)
APART = {("ui", "commands"), ("training", "measuring"), ("commands", "ui")}


def requirements(name):
    lines = (ROOT / name).read_text().splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith(("#", "-r"))]


def tracked_files():
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    names = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    return [path for path in names if path.is_file()]


def front_matter():
    return yaml.safe_load((ROOT / "README.md").read_text(encoding="utf-8").split("---\n")[1])


def test_readme_front_matter_starts_this_app_on_a_space():
    matter = front_matter()
    assert matter["sdk"] == "gradio"
    assert matter["license"] == "apache-2.0"
    assert matter["python_version"] == "3.11"
    assert len(matter["short_description"]) <= 60
    app = ROOT / matter["app_file"]
    assert matter["app_file"] == "app.py"
    assert app.is_file()
    assert f"gradio=={matter['sdk_version']}" in requirements("requirements.txt")


@pytest.mark.parametrize(
    "name",
    [
        "requirements.txt",
        "requirements-dev.txt",
        "requirements-train.txt",
        "requirements-mcp.txt",
        "requirements-reference.txt",
        "requirements-vllm.txt",
    ],
)
def test_requirements_are_pinned(name):
    lines = requirements(name)
    assert lines
    for line in lines:
        assert re.fullmatch(r"[A-Za-z0-9_.\[\]-]+==[0-9][\w.]*", line), line
    names = [re.split(r"[=\[]", line)[0].lower().replace("_", "-") for line in lines]
    assert len(set(names)) == len(names)


def test_the_model_is_no_requirement():
    lines = requirements("requirements.txt")
    assert not any("smollm2" in line for line in lines)  # its dependencies compile an engine


def test_version_is_said_once():
    from explorer.records.version import __version__

    text = (ROOT / "pyproject.toml").read_text()
    assert f'version = "{__version__}"' in text


def imports_of(path):
    """(module, name) of every import in a file: at the top, in functions, for type checking."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import hides its package"
            yield from ((node.module, alias.name) for alias in node.names)


def own_imports(path):
    """The modules of the product that a file imports."""
    for module, name in imports_of(path):
        if module.split(".")[0] == "explorer":
            whole = f"{module}.{name}"
            yield whole if whole in MODULES else module


def package_of(module):
    return [*module.split("."), ""][1]


def test_every_package_imports_only_from_those_before_it():
    upwards = []
    for module, path in MODULES.items():
        here = package_of(module)
        if here not in ORDER:  # the package's own front door
            continue
        for name in own_imports(path):
            there = package_of(name)
            if there not in ORDER[: ORDER.index(here) + 1] or (here, there) in APART:
                upwards.append(f"{module} imports {name}")
    assert upwards == []


def test_no_module_imports_itself_by_a_detour():
    sorter = graphlib.TopologicalSorter()
    for module, path in MODULES.items():
        sorter.add(module, *(name for name in own_imports(path) if name != module))
    sorter.prepare()  # raises CycleError, which names the circle


def test_records_need_no_library_but_pydantic_and_pages_no_tensor():
    forbidden = {
        "records": {"torch", "transformers", "numpy", "plotly", "gradio"},
        "ui": {"torch", "transformers", "bitsandbytes", "safetensors"},
    }
    found = [
        f"{module} imports {name}"
        for module, path in MODULES.items()
        for name, _ in imports_of(path)
        if name.split(".")[0] in forbidden.get(package_of(module), ())
    ]
    assert found == []


def test_nothing_is_unpickled_blindly():
    found = []
    for path in MODULES.values():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and is_blind(node):
                found.append(f"{path.relative_to(ROOT)}, line {node.lineno}")
    assert found == []


def is_blind(call):
    """Whether a call runs code that comes with a file."""
    called = ast.unparse(call.func)
    options = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
    return (
        (called == "torch.load" and options.get("weights_only") != "True")
        or called in ("pickle.load", "pickle.loads", "joblib.load")
        or options.get("allow_pickle") == "True"
        or options.get("trust_remote_code") == "True"
    )


def test_the_lints_find_what_they_look_for():
    calls = "torch.load(f)", "pickle.loads(b)", "np.load(f, allow_pickle=True)"
    assert all(is_blind(ast.parse(call, mode="eval").body) for call in calls)
    assert not is_blind(ast.parse("torch.load(f, weights_only=True)", mode="eval").body)
    assert ("explorer.figures.notebook", "attach") in imports_of(PACKAGE / "__init__.py")
    assert {package_of(module) for module in MODULES} - set(ORDER) == {"", "__main__"}


def test_tools_do_not_import_tests():
    for path in (ROOT / "tools").glob("*.py"):
        assert not any(name.split(".")[0] == "tests" for name, _ in imports_of(path)), path


def test_the_map_names_only_what_is_there():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:explorer|assets|tests|tools|docs)/[^`]*)`", text)
    assert [name for name in named if not (ROOT / name).exists()] == []
    rooms = re.findall(r"^\| `explorer/(\w+)/` \|", text, re.MULTILINE)
    assert tuple(rooms) == ORDER


def test_no_machine_path_and_no_registry_host_is_in_the_repository():
    # written in pieces, so that this file does not hold what it looks for
    paths = [
        "/work/" + "main",
        "/work/" + "shared",
        "/" + "root/",
        "/Us" + "ers/",
        "/home/" + "ubu",
    ]
    hosts = ["pypi" + ".org", "python" + "hosted", "npm" + "js", "deb.deb" + "ian"]
    forbidden = re.compile("|".join(map(re.escape, paths + hosts)))
    found = []
    for path in tracked_files():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(ROOT)}: {hit.group()}" for hit in forbidden.finditer(text)]
    assert found == []


def test_no_file_is_too_large_for_a_clone():
    for path in tracked_files():
        assert path.stat().st_size < 25 * 2**20, path


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 170


def pages_of_documentation():
    return [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_links_of_the_documentation_lead_somewhere():
    broken = []
    for page in pages_of_documentation():
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
            name, _, heading = link.partition("#")
            if "://" in link:
                continue
            target = page.parent / name if name else page
            if not target.exists() or (heading and heading not in headings_of(target)):
                broken.append(f"{page.name}: {link}")
    assert broken == []


def headings_of(page):
    """The anchors that GitHub makes of a page's headings."""
    lines = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", line.lower()).replace(" ", "-") for line in lines}


def test_the_page_of_commands_shows_each_of_them():
    from explorer.commands.cli import COMMANDS

    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    assert set(re.findall(r"python -m explorer (\w+)", text)) == set(COMMANDS)


def test_commands_in_the_documentation_exist_and_so_do_their_files():
    from explorer.commands.cli import COMMANDS

    for page in pages_of_documentation():
        text = page.read_text(encoding="utf-8")
        assert set(re.findall(r"python -m explorer (\w+)", text)) <= set(COMMANDS), page.name
        files = re.findall(r"(?<![\w/])(?:assets|tools)/[\w./-]+\w", text)
        assert [name for name in files if not (ROOT / name).exists()] == [], page.name


def test_presets_of_the_readme_exist():
    from explorer.weights.presets import PRESETS

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for name in PRESETS)
