"""`export` on the command line, over heads on disk."""

import json

import pytest
import torch

from explorer.commands import cli, export
from explorer.heads.checkpoints import load_heads, save_heads
from explorer.heads.export import FORMATS
from explorer.lab import exporting
from tests.commands.fakes import refused
from tests.heads.checkpoint_files import base
from tests.heads.test_heads import K, make


def test_the_formats_are_those_that_there_are():
    assert export.FORMATS == FORMATS


@pytest.mark.parametrize("to", FORMATS)
def test_heads_go_from_folder_to_folder_without_a_model(tmp_path, capsys, to):
    save_heads(make("own"), tmp_path / "heads")
    out = tmp_path / "out"
    more = ["--heads-only"] if to == "vllm" else []
    argv = ["export", "--to", to, *more, str(out), "--heads", str(tmp_path / "heads"), "--json"]
    assert cli.main(argv) == 0
    written = json.loads(capsys.readouterr().out)
    assert written["format"] == to
    assert sorted(written["files"]) == sorted(path.name for path in out.iterdir())
    assert torch.equal(load_heads(out).projection, make("own").projection)
    assert cli.main([*argv[:-1], "--num-heads", "2"]) == 0
    assert capsys.readouterr().out.startswith(f"{to}: ")
    assert load_heads(out).config.num_heads == 2


def test_the_base_model_is_loaded_where_its_lm_head_is_written(tmp_path, monkeypatch, capsys):
    shared = make("shared")
    save_heads(shared, tmp_path / "heads")
    monkeypatch.setattr(exporting, "load_model", lambda *_: base(shared.projection))
    asked = ["--to", "vllm", "--heads-only", str(tmp_path / "out")]
    argv = ["export", *asked, "--heads", str(tmp_path / "heads")]
    assert cli.main(argv) == 0
    assert torch.equal(load_heads(tmp_path / "out").projection, shared.projection)


def test_bad_input_is_one_line(tmp_path, capsys):
    folder = str(save_heads(make("own"), tmp_path / "heads"))
    out = str(tmp_path / "out")
    assert "no heads to export" in refused(capsys, "export", "--to", "vllm", out, "--heads", "none")
    asked = ["export", "--to", "medusa", out, "--heads", folder, "--num-heads", str(K + 1)]
    assert f"holds {K} heads, and {K + 1} were asked for" in refused(capsys, *asked)
    assert "invalid choice" in refused(capsys, "export", "--to", "onnx", out)
