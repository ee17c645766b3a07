"""`export --to vllm`: the folder that vLLM serves, over tiny models."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModelForCausalLM

from explorer.commands import cli
from explorer.heads.checkpoints import load_heads, save_heads
from explorer.heads.heads import MedusaHeads
from explorer.heads.heads_config import HeadsConfig
from explorer.records.errors import ExplorerError
from explorer.serving import vllm_folder
from explorer.serving.script import Served, serve_script
from explorer.serving.vllm_folder import export_for_vllm
from explorer.weights.presets import model_options
from explorer.weights.sources import Weights
from tests.commands.fakes import refused
from tests.tiny_lab import VOCAB, TinyTokenizer, tiny_model

SERVED = Served(
    model="model", name="tiny", heads="heads", num_heads=3, draft=None, draft_tokens=3,
    dtype="bfloat16", tensor_parallel=2,
)  # fmt: skip


class Tokenizer(TinyTokenizer):
    def save_pretrained(self, folder):
        (folder / "tokenizer.json").write_text("{}")


@pytest.fixture
def gguf(monkeypatch, tmp_path):
    """A base model that lies in a GGUF file, so that it has to be written."""
    model = tiny_model(exact=False)
    model.tokenizer = Tokenizer()
    monkeypatch.setattr(vllm_folder, "load_model", lambda *_: model)
    monkeypatch.setattr(vllm_folder, "find_weights", lambda _: Weights(gguf=tmp_path / "x.gguf"))
    return model


def heads_of(folder, kind="draft_vocab", num_blocks=2, hidden_size=32):
    torch.manual_seed(1)
    config = HeadsConfig(
        kind=kind, num_heads=3, num_blocks=num_blocks, hidden_size=hidden_size, vocab_size=VOCAB,
        draft_vocab_size=20 if kind == "draft_vocab" else None,
    )  # fmt: skip
    token_map = torch.randperm(VOCAB)[:20]
    heads = MedusaHeads.create(config, torch.randn(VOCAB, hidden_size), token_map)
    torch.nn.init.normal_(heads.block_weight, std=0.3)
    return str(save_heads(heads, folder))


def options(tmp_path, **more):
    return model_options(model="x.gguf", heads=heads_of(tmp_path / "own"), **more)


def test_a_gguf_is_written_whole_with_its_heads_and_the_script(gguf, tmp_path):
    out = tmp_path / "out"
    done = export_for_vllm(options(tmp_path), out, tensor_parallel=4)
    found = sorted(str(p.relative_to(out)) for p in out.rglob("*") if p.is_file())
    assert found == sorted(done.files)
    written = AutoModelForCausalLM.from_pretrained(out / "model").state_dict()
    for name, weight in gguf.network.state_dict().items():
        assert torch.equal(written[name], weight), name
    answer = json.loads((out / "heads" / "config.json").read_text())
    assert answer["truncated_vocab_size"] == answer["vocab_size"] == VOCAB
    assert "token_map" not in load_file(out / "heads" / "model.safetensors")
    assert any("the others never win" in note for note in done.notes)
    assert '"num_speculative_tokens": 3' in (out / "serve.sh").read_text()
    assert "TENSOR_PARALLEL:-4" in (out / "serve.sh").read_text()
    assert os.access(out / "serve.sh", os.X_OK)
    assert not (out / "draft").exists()  # the product's own was made for another model


def test_a_token_map_stays_where_it_is_asked_for(gguf, tmp_path):
    done = export_for_vllm(options(tmp_path), tmp_path / "out", token_map=True)
    assert "token_map" in load_file(tmp_path / "out" / "heads" / "model.safetensors")
    assert any("0.32.0 refuses" in note for note in done.notes)


def test_heads_of_another_base_model_are_refused_before_anything_is_written(gguf, tmp_path):
    heads = heads_of(tmp_path / "own", hidden_size=64)
    with pytest.raises(ExplorerError, match="hidden states of size 64"):
        export_for_vllm(model_options(model="x.gguf", heads=heads), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_vllm_reads_itself_is_named_and_not_loaded(monkeypatch, tmp_path):
    monkeypatch.setattr(vllm_folder, "find_weights", lambda _: Weights(folder="owner/repo"))
    monkeypatch.setattr(vllm_folder, "load_model", None)
    asked = model_options(model="owner/repo", heads=heads_of(tmp_path / "own"))
    done = export_for_vllm(asked, tmp_path / "out", draft="owner/small")
    script = (tmp_path / "out" / "serve.sh").read_text()
    assert "--model owner/repo --served-model-name repo" in script
    assert '"model": "owner/small"' in script
    assert "--dtype auto" in script
    assert done.files == ["heads/model.safetensors", "heads/config.json", "serve.sh"]


def test_a_trained_draft_becomes_a_model_of_its_own(gguf, tmp_path):
    from explorer.models.draft import first_layers, save_draft
    from explorer.models.draft_files import DraftConfig

    network = first_layers(gguf.network, 1)
    torch.nn.init.normal_(network.model.layers[0].mlp.down_proj.weight, std=0.5)
    config = DraftConfig(num_layers=1, hidden_size=32, vocab_size=VOCAB, storage="bf16")
    draft = str(save_draft(network, config, None, tmp_path / "draft"))
    done = export_for_vllm(options(tmp_path), tmp_path / "out", draft=draft)
    assert "draft/model.safetensors" in done.files
    assert AutoConfig.from_pretrained(tmp_path / "out" / "draft").num_hidden_layers == 1
    written = AutoModelForCausalLM.from_pretrained(tmp_path / "out" / "draft")
    layer, own = (n.model.layers[0].mlp.down_proj.weight for n in (written, network))
    assert torch.equal(layer.float(), own.detach().bfloat16().float())
    assert '"method": "draft_model", "model": "draft"' in (tmp_path / "out/serve.sh").read_text()


def test_the_command_writes_the_folder_or_the_heads_alone(gguf, tmp_path, capsys):
    heads, out = heads_of(tmp_path / "own"), tmp_path / "out"
    argv = ["export", "--to", "vllm", "--model", "x.gguf", "--heads", heads, "--json"]
    assert cli.main([*argv, str(out)]) == 0
    assert "serve.sh" in json.loads(capsys.readouterr().out)["files"]
    assert cli.main([*argv, "--heads-only", str(tmp_path / "alone")]) == 0
    assert load_heads(tmp_path / "alone").config.num_heads == 3
    capsys.readouterr()
    assert "'0' is not" in refused(capsys, *argv, str(out), "--tensor-parallel", "0")
    assert "no heads to export" in refused(capsys, *argv[:5], "--heads", "none", str(out))


def started(tmp_path, script, *arguments, **environment):
    """What vLLM would be started with: a python that prints its arguments stands in."""
    (tmp_path / "serve.sh").write_text(script)
    stand_in = tmp_path / "python"
    stand_in.write_text(
        f'#!/bin/sh\nif [ "$1" = -c ]; then echo {shlex.quote(str(tmp_path))}; exit; fi\n'
        'for word in "$@"; do printf "%s\\n" "$word"; done\n'
    )
    stand_in.chmod(0o755)
    done = subprocess.run(
        ["sh", str(tmp_path / "serve.sh"), *arguments],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHON": str(stand_in)} | environment,
    )
    return done.returncode, done.stdout.splitlines(), done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs sh")
def test_the_script_starts_vllm_with_exactly_these_options(tmp_path):
    status, words, _ = started(tmp_path, serve_script(SERVED), "medusa", "--max-model-len", "99")
    assert status == 0
    at = words.index("--speculative-config")
    expected = {"method": "medusa", "model": "heads", "num_speculative_tokens": 3}
    assert json.loads(words[at + 1]) == expected
    assert words[at + 2 : at + 4] == ["--per-request-spec-decode-metrics", "detailed"]
    assert words[:2] == ["-m", "vllm.entrypoints.openai.api_server"]
    for name, value in (
        ("--model", "model"), ("--host", "127.0.0.1"), ("--port", "8000"),
        ("--tensor-parallel-size", "2"), ("--max-model-len", "99"),
    ):  # fmt: skip
        assert words[words.index(name) + 1] == value
    assert "--enforce-eager" not in words


@pytest.mark.skipif(sys.platform == "win32", reason="needs sh")
def test_the_script_has_other_ways_and_refuses_unknown_ones(tmp_path):
    script = serve_script(SERVED)
    status, words, _ = started(tmp_path, script, "plain", TENSOR_PARALLEL="8", PORT="81")
    assert status == 0
    assert "--speculative-config" not in words
    assert words[words.index("--tensor-parallel-size") + 1] == "8"
    assert words[words.index("--port") + 1] == "81"
    status, words, said = started(tmp_path, script, "draft-model")
    assert (status, words) == (2, [])
    assert "none of medusa, plain" in said
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libiomp5.so").touch()  # vLLM for a CPU
    assert "--enforce-eager" in started(tmp_path, script, LD_PRELOAD="")[1]


@pytest.mark.skipif(sys.platform == "win32", reason="needs sh")
def test_no_name_reaches_the_shell_as_a_command(tmp_path):
    from dataclasses import replace

    odd = "a b'; touch owned; '"
    script = serve_script(replace(SERVED, model=odd, heads=odd, draft=odd))
    _, words, _ = started(tmp_path, script)
    assert words[words.index("--model") + 1] == odd
    assert json.loads(words[words.index("--speculative-config") + 1])["model"] == odd
    assert not (tmp_path / "owned").exists()
