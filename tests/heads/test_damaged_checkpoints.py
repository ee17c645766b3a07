"""Checkpoints that are damaged, hostile or incomplete are refused in one sentence."""

from __future__ import annotations

import pickle

import pytest
import torch
from safetensors.torch import save_file

from explorer.heads.checkpoints import load_heads, save_heads
from explorer.records.errors import ExplorerError
from tests.heads.checkpoint_files import public_config, public_tensors
from tests.heads.test_heads import H, K, V, make


def test_blocks_that_lack_are_not_made_up(tmp_path):
    tensors = {k: v for k, v in public_tensors(3).items() if not k.startswith("1.2.linear")}
    save_file(tensors, tmp_path / "medusa_lm_head.safetensors")
    public_config(tmp_path)
    with pytest.raises(ExplorerError, match="incomplete"):
        load_heads(tmp_path)


@pytest.mark.parametrize("dtype", [torch.int8, torch.float8_e4m3fn, torch.bool])
def test_weights_that_are_no_floating_point_numbers(tmp_path, dtype):
    tensors = {name: tensor.to(dtype) for name, tensor in public_tensors().items()}
    save_file(tensors, tmp_path / "medusa_lm_head.safetensors")
    public_config(tmp_path)
    with pytest.raises(ExplorerError, match=r"are stored as .* save them again as bfloat16"):
        load_heads(tmp_path)


@pytest.mark.parametrize("shape", [(0,), (), (H * H,), (0, H)])
@pytest.mark.parametrize("spoilt", ["0.0.linear.weight", "1.1.weight"])
def test_tensors_that_were_not_gathered(tmp_path, shape, spoilt):
    tensors = public_tensors() | {spoilt: torch.zeros(shape)}
    save_file(tensors, tmp_path / "medusa_lm_head.safetensors")
    public_config(tmp_path)
    with pytest.raises(ExplorerError, match=r"not whole: .* ZeRO-3 and FSDP"):
        load_heads(tmp_path)


def test_all_tensors_empty(tmp_path):
    tensors = {name: torch.empty(0) for name in public_tensors()}
    torch.save(tensors, tmp_path / "medusa_lm_head.pt")
    public_config(tmp_path)
    with pytest.raises(ExplorerError, match="not whole"):
        load_heads(tmp_path)


class Hostile:
    def __reduce__(self):
        return (exec, ("raise SystemExit('code ran')",))


def test_hostile_pickle_is_not_opened(tmp_path):
    public_config(tmp_path)
    torch.save({"0.0.linear.weight": Hostile()}, tmp_path / "medusa_lm_head.pt")
    with pytest.raises(ExplorerError, match="could run code"):
        load_heads(tmp_path)
    (tmp_path / "medusa_lm_head.pt").write_bytes(pickle.dumps(Hostile()))
    with pytest.raises(ExplorerError, match="could run code"):
        load_heads(tmp_path)


@pytest.mark.parametrize("name", ["medusa_lm_head.pt", "medusa_lm_head.safetensors"])
@pytest.mark.parametrize("keep", [0, 3, 900])
def test_cut_files(tmp_path, name, keep):
    public_config(tmp_path)
    (torch.save if name.endswith(".pt") else save_file)(public_tensors(), tmp_path / name)
    (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:keep])
    with pytest.raises(ExplorerError, match=r"cannot be read|could run code"):
        load_heads(tmp_path)


def drop(key):
    return lambda tensors: tensors.pop(key)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (drop("projection"), "incomplete"),
        (drop("block_bias"), "incomplete"),
        (lambda t: t.update(projection=torch.zeros(V, H + 1)), "do not match their config"),
        (lambda t: t["projection"].fill_(float("nan")), "not numbers"),
    ],
)
def test_spoilt_own_format(tmp_path, spoil, message):
    heads = save_heads(make("own"), tmp_path)
    tensors = {k: v.clone() for k, v in make("own").state_dict().items()}
    spoil(tensors)
    save_file(tensors, heads / "model.safetensors")
    with pytest.raises(ExplorerError, match=message):
        load_heads(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.pop("1.0.linear.bias"), "incomplete"),
        (lambda t: t.update({"1.0.linear.weight": torch.zeros(3, 3)}), "differ in shape"),
        (lambda t: t.update({"2.1.weight": torch.zeros(3, H)}), "differ in shape"),
        (lambda t: [t.pop(k) for k in list(t)] and t.update(other=torch.zeros(1)), "no Medusa"),
    ],
)
def test_spoilt_public_format(tmp_path, change, message):
    tensors = public_tensors()
    change(tensors)
    save_file(tensors, tmp_path / "medusa_lm_head.safetensors")
    public_config(tmp_path)
    with pytest.raises(ExplorerError, match=message):
        load_heads(tmp_path)


@pytest.mark.parametrize(
    "name", ["64.0.weight", "0.17.linear.bias", "99999999999.1.weight", "0.99999999999.linear.bias"]
)
def test_more_heads_than_any_checkpoint_has(tmp_path, name):
    save_file(public_tensors() | {name: torch.zeros(2)}, tmp_path / "medusa_lm_head.safetensors")
    public_config(tmp_path, medusa_num_heads=None)
    with pytest.raises(ExplorerError, match="no Medusa checkpoint has that many"):
        load_heads(tmp_path)


@pytest.mark.parametrize(
    "text", ["{", "[1]", '{"kind": "own"}', '{"num_heads": "many"}', "[" * 9999]
)
def test_spoilt_config(tmp_path, text):
    save_heads(make("own"), tmp_path)
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ExplorerError, match=r"config\.json"):
        load_heads(tmp_path)


@pytest.mark.parametrize("field", ["medusa_num_heads", "medusa_num_layers"])
@pytest.mark.parametrize("value", ["many", -1, 10**9, [1]])
def test_hostile_public_config(tmp_path, field, value):
    save_file(public_tensors(), tmp_path / "medusa_lm_head.safetensors")
    public_config(tmp_path, **{field: value})
    assert load_heads(tmp_path).config.num_heads == K
