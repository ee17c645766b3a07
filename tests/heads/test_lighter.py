"""Heads with fewer rows or with 4 bits guess what the whole heads guess, where they can."""

import pytest
import torch

from explorer.heads.checkpoints import save_heads
from explorer.heads.heads_config import HeadsConfig
from explorer.heads.hydra import ARCHITECTURES
from explorer.heads.layouts import Origin
from explorer.heads.lighter import frequent_tokens, lighten
from explorer.records.errors import ExplorerError

H, V, K = 64, 200, 3
PIECES = [f"word{i}" for i in range(V - 3)] + [",", " ", "s"]


def heads_of(kind, architecture="medusa", dtype=torch.float32):
    torch.manual_seed(0)
    size = 150 if kind == "draft_vocab" else None
    config = HeadsConfig(
        architecture=architecture, kind=kind, num_heads=K, num_blocks=1, hidden_size=H,
        vocab_size=V, draft_vocab_size=size,
    )  # fmt: skip
    token_map = torch.arange(size) + 50 if size else None
    heads = ARCHITECTURES[architecture].create(config, torch.randn(V, H), token_map)
    torch.nn.init.normal_(heads.block_weight, std=0.2)
    if architecture == "hydra":
        heads.use_embeddings(torch.randn(V, H))
    heads.origin = Origin("explorer", [])
    return heads.to(dtype).eval().requires_grad_(False)


def guesses(heads, top=10):
    hidden = torch.randn(5, H, generator=torch.Generator().manual_seed(1))
    path = torch.arange(5 * K).view(5, K) if heads.sees_path else None
    return heads.propose(hidden, top, path)


@pytest.mark.parametrize("kind", ["own", "shared", "draft_vocab"])
@pytest.mark.parametrize("architecture", ["medusa", "hydra"])
def test_fewer_tokens_are_guessed_in_the_order_of_the_whole_heads(kind, architecture):
    whole, few = heads_of(kind, architecture), heads_of(kind, architecture)
    before = few.step_bytes()
    lighten(few, PIECES, vocabulary=90)
    kept = set(few.token_map.tolist())
    assert len(kept) == few.config.output_size == 90
    assert few.step_bytes() < before
    theirs, ours = guesses(whole, V)[0], guesses(few, 5)[0]
    for m in range(5):
        for k in range(K):
            wanted = [token for token in theirs[m, k].tolist() if token in kept][:5]
            assert ours[m, k].tolist() == wanted
    assert "tokens" in few.origin.differences[0]


def test_the_base_models_lm_head_keeps_its_rows():
    heads = heads_of("shared")
    rows = heads.rows
    lighten(heads, PIECES, vocabulary=90)
    assert rows.shape == (V, H)
    assert heads.rows.shape == (90, H)


@pytest.mark.parametrize("kind", ["own", "draft_vocab"])
@pytest.mark.parametrize("architecture", ["medusa", "hydra"])
def test_four_bits_guess_nearly_the_same_and_take_a_fraction(kind, architecture):
    whole = heads_of(kind, architecture, torch.bfloat16)
    light = heads_of(kind, architecture, torch.bfloat16)
    lighten(light, PIECES, nf4=True)
    light.pack()
    assert light.projection_bytes() < 0.35 * whole.projection_bytes()
    ours, theirs = guesses(light), guesses(whole)
    assert (ours[0] == theirs[0][..., :1]).any(-1).float().mean() > 0.9
    assert ours[0].max() < V
    if architecture == "hydra":
        hidden, path = torch.randn(1, H), torch.tensor([[3, 4]])
        assert light.propose_next(hidden, path, 4)[0].shape == (1, 4)
    with pytest.raises(ValueError, match="load them again"):
        save_heads(light, "nowhere")


def test_both_together():
    heads = heads_of("own", dtype=torch.bfloat16)
    lighten(heads, PIECES, vocabulary=70, nf4=True)
    ids, probs = guesses(heads)
    assert set(ids.flatten().tolist()) <= set(heads.token_map.tolist())
    assert (probs.sum(-1) <= 1 + 1e-3).all()
    assert len(heads.origin.differences) == 2


def test_short_tokens_are_kept_wherever_the_vocabulary_has_them():
    assert frequent_tokens(PIECES, 5, range(V)).tolist() == [0, 1, V - 3, V - 2, V - 1]


def test_what_cannot_be_lightened_says_so():
    with pytest.raises(ExplorerError, match="200 tokens already"):
        lighten(heads_of("own"), PIECES, vocabulary=V)
    narrow = heads_of("own")
    narrow.config = narrow.config.model_copy(update={"hidden_size": 48})
    with pytest.raises(ExplorerError, match="blocks of 64"):
        lighten(narrow, PIECES, nf4=True)
