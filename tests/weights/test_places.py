"""Places that cannot be right are said before anything is loaded."""

import subprocess
import sys

import pytest

from explorer.records.errors import ExplorerError
from explorer.weights.places import require_places
from explorer.weights.presets import model_options
from explorer.weights.sources import find_weights


def gguf(path):
    path.write_bytes(b"GGUF")
    return path


def test_the_only_gguf_of_a_folder_is_taken(tmp_path):
    file = gguf(tmp_path / "a.gguf")
    assert find_weights(model_options(model=str(tmp_path))).gguf == file


def test_several_ggufs_of_a_folder_are_listed(tmp_path):
    gguf(tmp_path / "a.Q4_0.gguf"), gguf(tmp_path / "b.Q8_0.gguf")
    with pytest.raises(ExplorerError, match=r"2 GGUF files \(a.Q4_0.gguf, b.Q8_0.gguf\): name one"):
        find_weights(model_options(model=str(tmp_path)))


def test_a_folder_of_safetensors_goes_before_its_ggufs(tmp_path):
    gguf(tmp_path / "a.gguf")
    (tmp_path / "config.json").write_text("{}")
    assert find_weights(model_options(model=str(tmp_path))).folder == str(tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "/nowhere/a.gguf"}, "There is no model at '/nowhere/a.gguf'"),
        ({"model": "a.gguf"}, "There is no model at 'a.gguf'"),
        ({"model": "owner/repo:file.bin"}, "names no GGUF file"),
        ({"heads": "/nowhere"}, "There is no folder /nowhere with heads"),
        ({"heads": "a/b/c"}, "There is no folder a/b/c with heads"),
        ({"heads": "{empty}"}, "no config.json in"),
        ({"model": "{empty}"}, "it holds no config.json and no GGUF file"),
    ],
)
def test_a_wrong_place_is_said(tmp_path, options, message):
    filled = {name: value.format(empty=tmp_path) for name, value in options.items()}
    with pytest.raises(ExplorerError, match=message):
        require_places(model_options(**filled))


@pytest.mark.parametrize(
    "options", [{}, {"model": "owner/repo", "heads": "owner/heads"}, {"heads": "none"}]
)
def test_what_may_be_right_is_left_to_the_loading(options):
    require_places(model_options(**options))


def test_the_app_says_it_before_it_imports_anything_large():
    code = (
        "import sys, explorer.ui.start as s; status = s.main(['--heads', '/nowhere']);"
        "print(status, {'gradio', 'torch', 'transformers'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "2 set()\n"
    assert done.stderr.startswith("app.py: There is no folder /nowhere with heads")
