"""Heads are saved and come back as they were."""

from __future__ import annotations

import json

import huggingface_hub
import pytest
import torch
from huggingface_hub.errors import LocalEntryNotFoundError

from explorer.heads.checkpoints import load_heads, save_heads
from explorer.heads.hydra import new_heads
from explorer.records.errors import ExplorerError
from explorer.weights import hub
from tests.heads.checkpoint_files import base, public_config, same
from tests.heads.test_heads import H, K, V, config, kinds, make


@kinds
@pytest.mark.parametrize("num_blocks", [0, 1, 2])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_own_format_comes_back(tmp_path, kind, num_blocks, dtype):
    heads = make(kind, num_blocks).to(dtype)
    heads.config.accuracy = {"top1": [0.5]}
    assert save_heads(heads, tmp_path / "heads") == tmp_path / "heads"
    lm_head = heads.projection if kind == "shared" else None
    if kind == "shared" and num_blocks == 0:
        assert (tmp_path / "heads" / "model.safetensors").stat().st_size < 1000
    back = load_heads(tmp_path / "heads", base(lm_head))
    assert back.config == heads.config
    assert same(back, heads)
    assert back.block_weight.dtype == dtype
    assert not any(p.requires_grad for p in back.parameters())
    assert sorted(p.name for p in (tmp_path / "heads").iterdir()) == [
        "config.json",
        "model.safetensors",
    ]


def test_dtype_can_be_chosen(tmp_path):
    save_heads(make("draft_vocab"), tmp_path)
    heads = load_heads(tmp_path, dtype=torch.bfloat16)
    assert heads.projection.dtype == torch.bfloat16
    assert heads.token_map.dtype == torch.int64


@pytest.mark.parametrize("architecture", ["medusa", "hydra"])
@kinds
def test_fewer_heads_on_purpose(tmp_path, kind, architecture):
    heads = new_heads(config(kind, architecture=architecture))
    for name, tensor in heads.state_dict().items():
        if tensor is not None and name != "token_map":
            tensor.copy_(torch.randn(tensor.shape))
    embeddings, lm_head = torch.randn(V, H), torch.randn(V, H)
    place = base(lm_head, embeddings=embeddings)
    save_heads(heads, tmp_path)
    all_of_them, fewer = load_heads(tmp_path, place), load_heads(tmp_path, place, num_heads=2)
    assert fewer.config.num_heads == 2
    hidden, path = torch.randn(5, H), torch.randint(V, (5, K))
    # A library product over fewer heads may round its last bits otherwise.
    torch.testing.assert_close(fewer(hidden, path[:, :2]), all_of_them(hidden, path)[:2])
    with pytest.raises(ExplorerError, match=rf"holds {K} heads, and {K + 1} were asked for"):
        load_heads(tmp_path, place, num_heads=K + 1)


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ({"hidden_size": H + 1}, "hidden states of size 16"),
        ({"vocab_size": V + 1}, "vocabulary of size 40"),
    ],
)
def test_heads_of_another_base_are_refused(tmp_path, expected, message):
    save_heads(make("draft_vocab"), tmp_path)
    with pytest.raises(ExplorerError, match=message):
        load_heads(tmp_path, base(**expected))


def test_places_without_heads(tmp_path):
    with pytest.raises(ExplorerError, match=r"no config\.json"):
        load_heads(tmp_path)
    public_config(tmp_path)
    with pytest.raises(ExplorerError, match="no head weights"):
        load_heads(tmp_path)
    with pytest.raises(ExplorerError, match="no folder"):
        load_heads(tmp_path / "nothing")
    with pytest.raises(ExplorerError, match="no folder"):
        load_heads("../../etc/passwd")


@pytest.mark.parametrize(
    ("raised", "said"),
    [(LocalEntryNotFoundError("no route"), "cannot be reached"), (ValueError("TLS"), "broke off")],
)
def test_hub_errors_are_one_sentence(monkeypatch, raised, said):
    def fails(*_, **__):
        raise raised

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fails)
    with pytest.raises(ExplorerError, match=said):
        hub.heads_folder("owner/heads")


def test_a_full_disk(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ExplorerError, match="cannot be saved"):
        save_heads(make("own"), tmp_path / "file")


def test_config_is_written_for_people(tmp_path):
    save_heads(make("draft_vocab"), tmp_path)
    raw = json.loads((tmp_path / "config.json").read_text())
    assert raw["kind"] == "draft_vocab"
    assert raw["draft_vocab_size"] == 12
    assert raw["base_model"] == config("draft_vocab").base_model
