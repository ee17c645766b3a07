import json

import pytest
import torch
from safetensors.torch import load_file

from explorer.heads.checkpoints import load_heads, save_heads
from explorer.heads.export import FORMATS, export_heads
from explorer.heads.hydra import new_heads
from explorer.heads.vocabulary import over_whole_vocabulary
from explorer.records.errors import ExplorerError
from tests.heads.checkpoint_files import base
from tests.heads.test_heads import H, K, V, config, kinds, make

KEPT = ("block_weight", "block_bias", "projection", "token_map")


def same_tensors(ours, theirs, names=KEPT) -> bool:
    pairs = [(getattr(ours, name), getattr(theirs, name)) for name in names]
    return all((a is None and b is None) or torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("num_blocks", [0, 1, 2])
@pytest.mark.parametrize("to", FORMATS)
def test_heads_with_a_projection_each_come_back_bit_for_bit(tmp_path, to, num_blocks, dtype):
    heads = make("own", num_blocks).to(dtype)
    exported = export_heads(heads, tmp_path, to)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(exported.files)
    back = load_heads(tmp_path, base())
    assert same_tensors(back, heads)
    assert back.block_weight.dtype == dtype
    assert back.config.base_model == "tiny"


@pytest.mark.parametrize("to", ["vllm", "explorer"])
def test_heads_with_a_draft_vocabulary_come_back_bit_for_bit(tmp_path, to):
    heads = make("draft_vocab", 2)
    exported = export_heads(heads, tmp_path, to)
    assert same_tensors(load_heads(tmp_path, base()), heads)
    assert any("--token-map" in note for note in exported.notes) == (to == "vllm")


@pytest.mark.parametrize("to", ["medusa", "tgi", "vllm"])
def test_a_draft_vocabulary_written_over_the_whole_one_keeps_every_first_guess(tmp_path, to):
    heads, hidden = make("draft_vocab"), torch.randn(200, H)
    exported = export_heads(heads, tmp_path, to, whole_vocabulary=True)
    assert "the others never win" in exported.notes[0]
    back = load_heads(tmp_path, base())
    assert back.config.output_size == V
    assert torch.equal(back.propose(hidden, 1)[0], heads.propose(hidden, 1)[0])
    assert torch.equal(back(hidden)[..., heads.token_map], heads(hidden))


def test_a_row_outside_the_map_does_not_win_where_all_logits_are_negative():
    projection, hidden = -torch.rand(12, H) - 0.1, torch.rand(500, H)
    token_map = torch.randperm(V)[:12]
    whole = over_whole_vocabulary(projection.bfloat16(), token_map, V).float()
    assert set((hidden @ whole.T).argmax(-1).tolist()) <= set(token_map.tolist())


def test_heads_that_share_the_lm_head(tmp_path):
    heads = make("shared")
    assert export_heads(heads, tmp_path / "tgi", "tgi").notes == []
    names = set(load_file(tmp_path / "tgi" / "medusa_lm_head.safetensors"))
    assert names == {f"{k}.0.linear.{what}" for k in range(K) for what in ("weight", "bias")}
    assert same_tensors(load_heads(tmp_path / "tgi", base(heads.projection)), heads)
    hidden = torch.randn(5, H)
    for to in ("medusa", "vllm"):
        export_heads(heads, tmp_path / to, to)
        assert torch.equal(load_heads(tmp_path / to, base())(hidden), heads(hidden))
    alone = load_heads(save_heads(heads, tmp_path / "own"))
    with pytest.raises(ExplorerError, match="together with their base model"):
        export_heads(alone, tmp_path / "again", "vllm")
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize("whole", [False, True])
@kinds
def test_the_layout_that_vllm_reads(tmp_path, kind, whole):
    heads = make(kind, 2)
    export_heads(heads, tmp_path, "vllm", whole)
    written = json.loads((tmp_path / "config.json").read_text())
    size = 12 if kind == "draft_vocab" and not whole else V
    expected = {
        "model_type": "medusa",
        "architectures": ["MedusaModel"],
        "num_heads": K,
        "num_hidden_layers": 2,
        "medusa_fc_bias": True,
        "original_lm_head": kind != "own",
        "hidden_size": H,
        "vocab_size": V,
        "truncated_vocab_size": size,
    }
    assert expected.items() <= written.items()
    tensors = load_file(tmp_path / "model.safetensors")
    projections = {name for name in tensors if name.startswith("lm_heads")}
    assert len(projections) == (K if kind == "own" else 1)
    assert all(tensors[name].shape == (size, H) for name in projections)
    assert ("token_map" in tensors) == (size < V)


@pytest.mark.parametrize("to", ["medusa", "tgi", "vllm"])
def test_hydra_heads_are_refused_where_there_is_no_place_for_their_path(tmp_path, to):
    hydra = new_heads(config("own", architecture="hydra"))
    with pytest.raises(ExplorerError, match="tokens on their path"):
        export_heads(hydra, tmp_path, to)


def test_unknown_formats_are_refused(tmp_path):
    with pytest.raises(ExplorerError, match="'onnx' is no format"):
        export_heads(make(), tmp_path, "onnx")
