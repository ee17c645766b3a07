"""A checkpoint whose weights and network do not fit each other is refused by naming the weight."""

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

from explorer.models.whole_checkpoint import read_whole
from explorer.records.errors import ExplorerError

SIZES = {
    "vocab_size": 96, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64,
}  # fmt: skip
QUERY = "model.layers.1.self_attn.q_proj"


@pytest.fixture
def folder(tmp_path):
    torch.manual_seed(0)
    LlamaForCausalLM(LlamaConfig(**SIZES)).save_pretrained(tmp_path)
    return tmp_path


def change(folder, add=(), drop=()):
    """Add tensors to, and drop them from, the file of a checkpoint."""
    path = folder / "model.safetensors"
    tensors = load_file(path)
    for name in drop:
        del tensors[name]
    save_file(tensors | {name: torch.ones(32) for name in add}, path, {"format": "pt"})


def test_a_whole_checkpoint_is_read(folder):
    network, notes = read_whole(folder)
    assert notes == []
    stored = load_file(folder / "model.safetensors")
    assert torch.equal(network.get_parameter(f"{QUERY}.weight"), stored[f"{QUERY}.weight"])


@pytest.mark.parametrize(
    "name",
    [
        f"{QUERY}.bias",  # a variant with biases
        "model.layers.1.self_attn.sinks",
        "model.layers.0.self_attn.q_norm.weight",  # a layer of its own
        "model.layers.2.mlp.up_proj.weight",  # a layer more than the configuration says
        "model.norm.bias",
        "lm_head.bias",
        "model.embedding_norm.weight",
        "transform.weight",
    ],
)
def test_a_weight_that_the_network_has_no_place_for(folder, name):
    change(folder, add=[name])
    with pytest.raises(ExplorerError, match=f"holds the weight '{name}'.* no place for"):
        read_whole(folder)


@pytest.mark.parametrize(
    "name", ["lm_head.weight", f"{QUERY}.weight", "model.norm.weight", "model.embed_tokens.weight"]
)
def test_a_weight_that_would_be_made_up(folder, name):
    change(folder, drop=[name])
    with pytest.raises(ExplorerError, match=f"lacks the weight '{name}'"):
        read_whole(folder)


def test_how_many_more(folder):
    change(folder, drop=[f"model.layers.{i}.self_attn.q_proj.weight" for i in range(2)])
    with pytest.raises(ExplorerError, match=r"'model\.layers\.0.*' and 1 more"):
        read_whole(folder)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("vision_tower.layers.0.weight", "vision_tower"),
        ("mtp.layers.0.mlp.up_proj.weight", "mtp"),
        ("score.weight", "score"),
        ("model.layers.0.self_attn.rotary_emb.inv_freq", None),  # saved by old versions
    ],
)
def test_parts_that_text_does_not_need_are_left_out_and_named(folder, name, part):
    change(folder, add=[name])
    _, notes = read_whole(folder)
    assert notes == ([f"Not used for text: {part}."] if part else [])


def test_tied_weights_and_old_buffers_are_no_fault(tmp_path):
    config = GPT2Config(vocab_size=96, n_embd=32, n_layer=2, n_head=4, n_positions=64)
    GPT2LMHeadModel(config).save_pretrained(tmp_path)
    assert "lm_head.weight" not in load_file(tmp_path / "model.safetensors")
    change(tmp_path, add=["transformer.h.0.attn.masked_bias", "transformer.h.0.attn.bias"])
    assert read_whole(tmp_path)[1] == []
