"""What holds for the repository as a whole: set-up files, layers, and what must not be in it."""

import ast
import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "explorer"
SOURCES = sorted(PACKAGE.rglob("*.py"))
SHARED = {"records"}  # what every layer may import
LAYERS = {
    "weights": 0,
    "kernels": 0,
    "models": 0,
    "heads": 0,
    "decoding": 1,
    "analysis": 2,
    "training": 2,
}
TOP = 3  # ui, the command line, and the package's own front door


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
    ["requirements.txt", "requirements-dev.txt", "requirements-train.txt", "requirements-mcp.txt"],
)
def test_requirements_are_pinned(name):
    lines = requirements(name)
    assert lines
    for line in lines:
        assert re.fullmatch(r"[A-Za-z0-9_.\[\]-]+==[0-9][\w.]*", line), line
    names = [re.split(r"[=\[]", line)[0].lower().replace("_", "-") for line in lines]
    assert len(set(names)) == len(names)


def test_torch_is_the_agreed_version_and_the_model_is_no_requirement():
    lines = requirements("requirements.txt")
    assert "torch==2.13.0" in lines
    assert not any("smollm2" in line for line in lines)  # its dependencies compile an engine


def test_ci_runs_the_tests_as_make_does():
    script = ROOT / ".ci" / "run"
    text = script.read_text()
    assert os.access(script, os.X_OK)
    assert "set -euo pipefail" in text
    assert "make test" in text
    assert "|| true" not in text


def test_licence_is_whole():
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text


def test_version_is_said_once():
    from explorer.records.version import __version__

    text = (ROOT / "pyproject.toml").read_text()
    assert f'version = "{__version__}"' in text


def imports_of(path):
    """Names that a file imports, those for type checking alone left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import hides its layer"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def layer_of(parts):
    part = parts[0] if parts else ""
    return LAYERS.get(part, TOP)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path):
    here = path.relative_to(PACKAGE).with_suffix("").parts
    for name in imports_of(path):
        parts = name.split(".")
        if parts[0] != "explorer":
            continue
        target = parts[1:]
        if target and target[0] in SHARED:
            continue
        if here[0] in SHARED:
            pytest.fail(f"{path.name} is imported by all and must not import {name}")
        assert layer_of(target) <= layer_of(here), f"{path.name} imports {name}, a layer above it"


@pytest.mark.parametrize(
    "path", sorted((PACKAGE / "ui").rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_ui_never_touches_a_tensor(path):
    roots = {name.split(".")[0] for name in imports_of(path)}
    assert not roots & {"torch", "transformers", "bitsandbytes", "safetensors"}


@pytest.mark.parametrize(
    "path",
    sorted((PACKAGE / "records").rglob("*.py")),
    ids=lambda path: str(path.relative_to(PACKAGE)),
)
def test_records_are_plain_data(path):
    roots = {name.split(".")[0] for name in imports_of(path)}
    assert not roots & {"torch", "transformers", "numpy", "gradio"}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_is_unpickled_blindly(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        options = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
        if called == "torch.load":
            assert options.get("weights_only") == "True", f"line {node.lineno}"
        assert called not in ("pickle.load", "pickle.loads", "joblib.load"), f"line {node.lineno}"
        assert options.get("allow_pickle") != "True", f"line {node.lineno}"
        assert options.get("trust_remote_code") != "True", f"line {node.lineno}"


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


def test_commands_of_the_readme_exist():
    from explorer.cli import COMMANDS

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    used = set(re.findall(r"python -m explorer (\w+)", text))
    assert used == set(COMMANDS)


def test_presets_of_the_readme_exist():
    from explorer.weights.presets import PRESETS

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in text for name in PRESETS)
