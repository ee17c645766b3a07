import pytest
import torch
from safetensors.torch import load_file, save_file

from explorer.heads.checkpoints import load_heads, save_heads
from explorer.heads.heads_config import HeadsConfig
from explorer.heads.hydra import ARCHITECTURES
from explorer.records.errors import ExplorerError

H, V = 64, 96


def heads_of(architecture="medusa", hidden_size=H):
    config = HeadsConfig(
        architecture=architecture,
        kind="draft_vocab",
        num_heads=2,
        num_blocks=2,
        hidden_size=hidden_size,
        vocab_size=V,
        draft_vocab_size=40,
    )
    torch.manual_seed(0)
    heads = ARCHITECTURES[architecture].create(
        config, torch.randn(V, hidden_size), torch.arange(0, 80, 2)
    )
    for parameter in heads.parameters():
        torch.nn.init.normal_(parameter)
    return heads


def dtypes_in(folder) -> dict:
    return {name: tensor.dtype for name, tensor in load_file(folder / "model.safetensors").items()}


@pytest.mark.parametrize("architecture", ["medusa", "hydra"])
def test_eight_bits_halve_the_file_and_hardly_move_a_weight(tmp_path, architecture):
    heads = heads_of(architecture)
    save_heads(heads, tmp_path / "8", "q8_0")
    save_heads(heads, tmp_path / "16", "bfloat16")
    sizes = [(tmp_path / bits / "model.safetensors").stat().st_size for bits in ("8", "16")]
    assert sizes[0] < 0.6 * sizes[1]
    back = load_heads(tmp_path / "8")
    assert back.block_weight.dtype == torch.bfloat16
    assert torch.equal(back.token_map, heads.token_map)
    for (name, ours), theirs in zip(heads.named_parameters(), back.parameters(), strict=True):
        groups = ours.detach().reshape(-1, 32)
        # Half a step of 1/127 of the largest weight, and the rounding to bfloat16.
        most = groups.abs().amax(-1, keepdim=True) * (0.5 / 127 + 2**-8)
        assert ((theirs.float().reshape(-1, 32) - groups).abs() <= most).all(), name


def test_what_training_measures_is_what_comes_back(tmp_path):
    from explorer.training.heads_step import as_stored

    heads = heads_of()
    for storage in ("q8_0", "bfloat16", "float16", "float32"):
        save_heads(heads, tmp_path / storage, storage)
        back, measured = load_heads(tmp_path / storage), as_stored(heads, storage)
        for ours, theirs in zip(back.parameters(), measured.parameters(), strict=True):
            assert ours.dtype == theirs.dtype
            assert torch.equal(ours, theirs)


def test_rows_that_are_not_of_whole_groups_stay_in_bfloat16(tmp_path):
    save_heads(heads_of(hidden_size=40), tmp_path, "q8_0")
    kinds = dtypes_in(tmp_path)
    assert kinds.pop("token_map") == torch.int32
    assert set(kinds.values()) == {torch.bfloat16}
    assert torch.equal(
        load_heads(tmp_path).projection, heads_of(hidden_size=40).projection.bfloat16()
    )


def test_eight_bit_blocks_of_another_shape_or_of_no_numbers_are_refused(tmp_path):
    save_heads(heads_of(), tmp_path, "q8_0")
    file = tmp_path / "model.safetensors"
    tensors = load_file(file)
    for spoilt, words in (
        (tensors["projection"][:, :-34], "do not match"),
        (tensors["projection"][:, :-1], "do not match"),
        (torch.full_like(tensors["projection"], 255), "not numbers"),
    ):
        save_file({**tensors, "projection": spoilt.contiguous()}, file)
        with pytest.raises(ExplorerError, match=words):
            load_heads(tmp_path)
