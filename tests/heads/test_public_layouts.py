"""Heads in the layouts that others publish are read as they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from explorer.heads.checkpoints import load_heads
from explorer.heads.head_files import read_tensors
from explorer.records.errors import ExplorerError
from tests.heads.checkpoint_files import base, public_config, public_tensors, same
from tests.heads.test_heads import H, K, V, make


@pytest.mark.parametrize("num_blocks", [0, 1, 2])
@pytest.mark.parametrize("name", ["medusa_lm_head.pt", "medusa_lm_head.safetensors"])
def test_fasterdecoding_heads(tmp_path, name, num_blocks):
    tensors = public_tensors(num_blocks)
    (torch.save if name.endswith(".pt") else save_file)(tensors, tmp_path / name)
    public_config(tmp_path, medusa_num_layers=num_blocks)
    heads = load_heads(tmp_path)
    assert (heads.config.kind, heads.config.num_blocks, heads.config.vocab_size) == (
        "own",
        num_blocks,
        V,
    )
    assert heads.config.base_model == "some/base"
    assert same(heads, make("own", num_blocks))


def test_tgi_heads_share_the_lm_head(tmp_path):
    save_file(public_tensors(own=False), tmp_path / "medusa_lm_head.safetensors")
    public_config(tmp_path)
    shared = make("shared")
    heads = load_heads(tmp_path, base(shared.projection))
    assert heads.config.kind == "shared"
    torch.testing.assert_close(heads.features(torch.ones(1, H))[:, 0], heads.features(
        torch.ones(2, H))[:, 1])  # fmt: skip
    assert heads(torch.randn(2, H)).shape == (K, 2, V)


@pytest.mark.parametrize("layout", ["one file", "shards", "bin"])
def test_full_checkpoint_of_medusa_1_0(tmp_path, layout):
    tensors = public_tensors(prefix="medusa_head.")
    rest = {"model.embed_tokens.weight": torch.zeros(V, H)}
    if layout == "one file":
        save_file(tensors | rest, tmp_path / "model.safetensors")
    elif layout == "bin":
        torch.save(tensors | rest, tmp_path / "pytorch_model.bin")
    else:
        save_file(rest, tmp_path / "model-1.safetensors")
        save_file(tensors | {"lm_head.weight": torch.zeros(V, H)}, tmp_path / "model-2.safetensors")
        where = dict.fromkeys(tensors, "model-2.safetensors") | {
            "model.embed_tokens.weight": "model-1.safetensors"
        }
        (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": where}))
    public_config(tmp_path, vocab_size=V, hidden_size=H)
    assert same(load_heads(tmp_path, base()), make("own"))


@pytest.mark.parametrize("named", [2, K + 3])
def test_the_tensors_decide_how_many_heads_there_are(tmp_path, named):
    save_file(public_tensors(), tmp_path / "medusa_lm_head.safetensors")
    public_config(tmp_path, medusa_num_heads=named)
    heads = load_heads(tmp_path)
    assert heads.config.num_heads == K
    assert heads.origin.differences == [
        f"config.json says medusa_num_heads = {named}, but by the tensors it is {K}, which is used."
    ]


def test_the_format_is_known_by_the_tensors_and_a_true_config_json_raises_no_alarm(tmp_path):
    for name, tensors in {
        "medusa": public_tensors(),
        "tgi": public_tensors(own=False),
        "vllm": vllm_tensors(),
        "modelopt": public_tensors(prefix="medusa_heads."),
        "whole": public_tensors(prefix="medusa_head."),
    }.items():
        (tmp_path / name).mkdir()
        save_file(tensors, tmp_path / name / "model.safetensors")
        public_config(tmp_path / name, hidden_size=H, vocab_size=V)
        origin = load_heads(tmp_path / name, base(make("shared").projection)).origin
        assert (origin.format, origin.differences) == (name, [])
        assert origin.title


def test_modelopts_names_before_its_export(tmp_path):
    tensors = {}
    for name, tensor in public_tensors().items():
        k, b, what = name.split(".", 2)
        inner = "lm_head.weight" if what == "weight" else f"medusa_layers.{b}.{what}"
        tensors[f"medusa_heads.{k}.{inner}"] = tensor
    save_file(tensors | {"lm_head.weight": torch.zeros(V, H)}, tmp_path / "model.safetensors")
    public_config(tmp_path)
    assert same(load_heads(tmp_path), make("own"))


@pytest.mark.parametrize("name", ["medusa_lm_head.pt", "medusa_lm_head.safetensors"])
def test_old_heads_that_repeat_one_block(tmp_path, name):
    """Their blocks are one module: a pickle names it twice, safetensors keep it once."""
    tensors = public_tensors()
    for k in range(K):
        tensors[f"{k}.2.weight"] = tensors.pop(f"{k}.1.weight")
        if name.endswith(".pt"):
            for what in ("weight", "bias"):
                tensors[f"{k}.1.linear.{what}"] = tensors[f"{k}.0.linear.{what}"]
    (torch.save if name.endswith(".pt") else save_file)(tensors, tmp_path / name)
    public_config(tmp_path, medusa_num_layers=2)
    heads = load_heads(tmp_path)
    assert heads.config.num_blocks == 2
    assert heads.origin.differences == []
    for block in (0, 1):
        assert torch.equal(heads.block_weight[:, block], make("own").block_weight[:, 0])


def vllm_tensors():
    """The public tensors under vLLM's names."""
    out = {}
    for name, tensor in public_tensors().items():
        k, b, what = name.split(".", 2)
        if what == "weight":
            out[f"lm_heads.{k}.weight"] = tensor
        else:
            out[f"blocks.{k}.layers.{b}.{what.removeprefix('linear.')}"] = tensor
    return out


def test_heads_in_vllms_layout(tmp_path):
    save_file(vllm_tensors(), tmp_path / "model.safetensors")
    public_config(tmp_path, num_heads=K, model_type="medusa", architectures=["MedusaModel"])
    assert same(load_heads(tmp_path), make("own"))


def test_heads_in_vllms_layout_without_biases(tmp_path):
    tensors = {n: t for n, t in vllm_tensors().items() if not n.endswith("bias")}
    save_file(tensors, tmp_path / "model.safetensors")
    public_config(tmp_path, num_heads=K)
    assert not load_heads(tmp_path).block_bias.any()


@pytest.mark.parametrize("rows", ["of the map", "whole"])
def test_vllms_heads_with_a_projection_each_and_a_token_map(tmp_path, rows):
    token_map = torch.tensor([7, 3, 30, 11])
    tensors = vllm_tensors() | {"token_map": token_map}
    if rows == "of the map":
        for k in range(K):
            tensors[f"lm_heads.{k}.weight"] = tensors[f"lm_heads.{k}.weight"][token_map]
    save_file(tensors, tmp_path / "model.safetensors")
    public_config(tmp_path, num_heads=K)
    with pytest.raises(ExplorerError, match="load them together with their base model"):
        load_heads(tmp_path)
    heads, hidden = load_heads(tmp_path, base()), torch.randn(50, H)
    expected = make("own")(hidden)[..., token_map]
    assert torch.equal(heads(hidden)[..., token_map], expected)
    assert torch.equal(heads.propose(hidden, 1)[0][..., 0].T, token_map[expected.argmax(-1)])


@pytest.mark.parametrize("name", ["medusa_lm_head.safetensors", "pytorch_model.bin"])
def test_heads_in_several_files(tmp_path, name):
    where = {}
    for i, (key, tensor) in enumerate(public_tensors().items()):
        part = f"part-{i % 2}{Path(name).suffix}"
        where[key] = part
        content = {key: tensor} | (read_tensors(tmp_path / part) if i > 1 else {})
        (save_file if part.endswith("safetensors") else torch.save)(content, tmp_path / part)
    (tmp_path / f"{name}.index.json").write_text(json.dumps({"weight_map": where}))
    public_config(tmp_path)
    assert same(load_heads(tmp_path), make("own"))
    (tmp_path / "part-1").with_suffix(Path(name).suffix).unlink()
    with pytest.raises(ExplorerError, match="damaged or incomplete"):
        load_heads(tmp_path)
