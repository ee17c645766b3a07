"""Heads whose projection is held in 4 bits."""

from pathlib import Path

import pytest
import torch

from explorer.heads.checkpoints import load_heads, save_heads
from explorer.heads.fingerprint import heads_hash
from explorer.heads.heads import MedusaHeads
from explorer.heads.heads_config import HeadsConfig
from explorer.kernels.isa import instruction_set
from tests.heads.test_heads import make

DEFAULT = Path(__file__).parents[2] / "assets" / "heads" / "default"


@pytest.mark.parametrize("compiled", [True, False])
def test_packed_heads_guess_nearly_the_same(compiled, monkeypatch):
    if not compiled:  # as on a CPU without the instructions
        monkeypatch.setattr("explorer.heads.heads.fits", lambda *sizes: False)
    dense, packed = load_heads(DEFAULT), load_heads(DEFAULT)
    packed.pack()
    assert (packed.compiled is not None) == (compiled and instruction_set() is not None)
    torch.manual_seed(0)
    hidden = 2 * torch.randn(32, 576)
    ours, theirs = packed.propose(hidden, 8), dense.propose(hidden, 1)
    assert (theirs[0] == ours[0]).any(-1).float().mean() > 0.9
    assert (ours[1][..., 0] - theirs[1][..., 0]).abs().mean() < 0.1


def test_packing_leaves_the_hash_that_the_rank_table_names():
    heads = load_heads(DEFAULT)
    before = heads_hash(heads)
    heads.pack()
    assert heads_hash(heads) == before
    heads.block_bias += 1
    assert heads_hash(heads) != before


def test_packed_heads_are_not_saved(tmp_path):
    heads = load_heads(DEFAULT)
    heads.pack()
    with pytest.raises(ValueError, match="load them again"):
        save_heads(heads, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("kind", "hidden_size", "dtype"),
    [
        ("own", 64, torch.bfloat16),
        ("shared", 64, torch.bfloat16),
        ("draft_vocab", 48, torch.bfloat16),  # no whole groups of 32
        ("draft_vocab", 64, torch.float32),
    ],
)
def test_what_cannot_be_packed_stays_as_it_is(kind, hidden_size, dtype):
    size = 32 if kind == "draft_vocab" else None
    config = HeadsConfig(
        kind=kind,
        num_heads=2,
        num_blocks=1,
        hidden_size=hidden_size,
        vocab_size=64,
        draft_vocab_size=size,
    )
    token_map = torch.arange(32) if size else None
    heads = MedusaHeads.create(config, torch.randn(64, hidden_size), token_map).to(dtype)
    hidden = torch.randn(3, hidden_size)
    before = heads(hidden)
    heads.pack()
    assert heads.packed is None
    assert torch.equal(heads(hidden), before)


def test_a_block_of_all_heads_lies_together_in_memory():
    heads = make("draft_vocab", num_blocks=2)
    before, hidden = heads.block_weight.clone(), torch.randn(3, heads.config.hidden_size)
    features = heads.features(hidden)
    heads.pack()
    assert all(heads.block_weight[:, block].is_contiguous() for block in range(2))
    assert torch.equal(heads.block_weight, before)
    torch.testing.assert_close(heads.features(hidden), features)
