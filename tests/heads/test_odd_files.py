"""Files of heads that hold something else than heads: each is one sentence."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from explorer.heads.checkpoints import load_heads, save_heads
from explorer.records.errors import ExplorerError
from tests.heads.checkpoint_files import public_config, public_tensors
from tests.heads.test_heads import make


def test_a_check_of_the_whole_config_is_said_in_its_own_words(tmp_path):
    save_heads(make("own"), tmp_path)
    raw = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(raw | {"draft_vocab_size": 3}))
    with pytest.raises(ExplorerError, match=r"is wrong \(draft_vocab_size belongs to"):
        load_heads(tmp_path)


def test_one_missing_tensor_is_not_several(tmp_path):
    save_heads(make("own"), tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    del tensors["block_bias"]
    save_file(tensors, tmp_path / "model.safetensors")
    with pytest.raises(ExplorerError, match=r"incomplete \(block_bias is missing\)"):
        load_heads(tmp_path)


@pytest.mark.parametrize(
    "index",
    [
        "[]",
        "{}",
        '{"weight_map": []}',
        '{"weight_map": {"medusa_head.0.0.linear.weight": 5}}',
        '{"weight_map": {"medusa_head.0.0.linear.weight": "model.safetensors.index.json"}}',
        "[" * 99_999,
    ],
)
def test_an_index_that_names_no_files(tmp_path, index):
    public_config(tmp_path)
    (tmp_path / "model.safetensors.index.json").write_text(index)
    with pytest.raises(ExplorerError, match="cannot be read as head weights"):
        load_heads(tmp_path)


@pytest.mark.parametrize(
    "odd",
    [
        lambda weight: weight.to_sparse(),
        lambda weight: weight.to("meta"),
        lambda weight: torch.nested.nested_tensor([weight, weight]),
        lambda weight: torch.zeros(1, 1).expand(2**20, 2**20),
    ],
)
def test_tensors_that_are_not_dense(tmp_path, odd):
    tensors = public_tensors()
    name = next(iter(tensors))
    torch.save(tensors | {name: odd(tensors[name])}, tmp_path / "medusa_lm_head.pt")
    public_config(tmp_path)
    with pytest.raises(ExplorerError, match=f"holds {name} in a form that is not read"):
        load_heads(tmp_path)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bool])
def test_a_token_map_is_of_whole_numbers(tmp_path, dtype):
    save_heads(make("draft_vocab"), tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    save_file(
        tensors | {"token_map": tensors["token_map"].to(dtype)}, tmp_path / "model.safetensors"
    )
    with pytest.raises(ExplorerError, match="token ids are whole numbers"):
        load_heads(tmp_path)
