import pytest
import torch
import torch.nn.functional as F

from explorer.heads.heads import MedusaHeads
from explorer.heads.heads_config import HeadsConfig
from explorer.records.errors import ExplorerError

H, V, K = 16, 40, 3


def config(kind: str = "own", num_blocks: int = 1, **changes) -> HeadsConfig:
    fields = {
        "kind": kind,
        "num_heads": K,
        "num_blocks": num_blocks,
        "hidden_size": H,
        "vocab_size": V,
        "draft_vocab_size": 12 if kind == "draft_vocab" else None,
        "base_model": "tiny",
    }
    return HeadsConfig(**{**fields, **changes})


def make(kind: str = "own", num_blocks: int = 1, random: bool = True) -> MedusaHeads:
    generator = torch.Generator().manual_seed(1)
    lm_head = torch.randn(V, H, generator=generator)
    token_map = torch.randperm(V, generator=generator)[:12] if kind == "draft_vocab" else None
    heads = MedusaHeads.create(config(kind, num_blocks), lm_head, token_map)
    if random:
        with torch.no_grad():
            for parameter in heads.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.5)
    return heads.eval()


kinds = pytest.mark.parametrize("kind", ["own", "shared", "draft_vocab"])
blocks = pytest.mark.parametrize("num_blocks", [0, 1, 3])


@kinds
@blocks
def test_untrained_heads_repeat_the_lm_head(kind, num_blocks):
    heads = make(kind, num_blocks, random=False)
    hidden = torch.randn(5, H)
    lm_head = torch.randn(V, H, generator=torch.Generator().manual_seed(1))
    if kind == "draft_vocab":
        lm_head = lm_head[heads.token_map]
    for logits in heads(hidden):
        torch.testing.assert_close(logits, hidden @ lm_head.T)


@kinds
@blocks
def test_stacked_heads_equal_the_formula_head_by_head(kind, num_blocks):
    """head_k(h) = W2 · (h + SiLU(W1_k h + b_k)), the block repeated."""
    heads, hidden = make(kind, num_blocks), torch.randn(4, H)
    logits = heads(hidden)
    assert logits.shape == (K, 4, 12 if kind == "draft_vocab" else V)
    for k in range(K):
        x = hidden
        for b in range(num_blocks):
            x = x + F.silu(x @ heads.block_weight[k, b].T + heads.block_bias[k, b])
        projection = heads.projection[k] if kind == "own" else heads.projection
        torch.testing.assert_close(logits[k], x @ projection.T, atol=1e-4, rtol=1e-4)


@kinds
@pytest.mark.parametrize("rows", [0, 1, 6])
def test_propose_gives_full_ids_and_softmax_probabilities(kind, rows):
    heads, hidden = make(kind), torch.randn(rows, H)
    ids, probs = heads.propose(hidden, 5)
    assert ids.shape == probs.shape == (rows, K, 5)
    assert ids.dtype == torch.int64
    assert probs.dtype == torch.float32
    full = heads(hidden).float().softmax(-1).transpose(0, 1)
    expected, where = full.topk(5)
    torch.testing.assert_close(probs, expected)
    assert torch.equal(ids, where if heads.token_map is None else heads.token_map[where])


def test_probabilities_do_not_overflow():
    heads = make("own")
    with torch.no_grad():
        heads.projection.mul_(1e4)
    _, probs = heads.propose(torch.randn(3, H), V)
    torch.testing.assert_close(probs.sum(-1), torch.ones(3, K))


def test_top_is_cut_to_the_draft_vocabulary():
    ids, _ = make("draft_vocab").propose(torch.randn(1, H), 100)
    assert ids.shape == (1, K, 12)


def test_hidden_states_of_another_dtype_are_taken():
    heads = make("draft_vocab").to(torch.bfloat16)
    assert heads(torch.randn(2, H)).dtype == torch.bfloat16
    assert heads.token_map.dtype == torch.int64
    assert heads.propose(torch.randn(2, H), 3)[1].dtype == torch.float32


def test_every_head_learns():
    heads = make("draft_vocab", random=False)
    heads(torch.randn(4, H)).logsumexp(-1).sum().backward()
    assert (heads.block_weight.grad.flatten(1).norm(dim=1) > 0).all()
    assert make("shared").projection.requires_grad is False
    assert "projection" not in make("shared").state_dict()


@pytest.mark.parametrize(
    ("kind", "token_map", "message"),
    [
        ("draft_vocab", None, "token map"),
        ("draft_vocab", torch.arange(11), "token map"),
        ("draft_vocab", torch.arange(12) + V, "distinct token ids"),
        ("draft_vocab", torch.zeros(12, dtype=torch.long), "distinct token ids"),
    ],
)
def test_bad_token_maps(kind, token_map, message):
    with pytest.raises(ExplorerError, match=message):
        MedusaHeads.create(config(kind), torch.randn(V, H), token_map)


def test_lm_head_of_another_model():
    with pytest.raises(ExplorerError, match="made for this base model"):
        MedusaHeads.create(config(), torch.randn(V + 1, H))


def test_shared_heads_without_their_lm_head():
    with pytest.raises(ExplorerError, match="share the base model's LM head"):
        MedusaHeads(config("shared"))(torch.randn(1, H))


@pytest.mark.parametrize(
    "changes",
    [
        {"draft_vocab_size": 8},
        {"kind": "draft_vocab", "draft_vocab_size": None},
        {"kind": "draft_vocab", "draft_vocab_size": V + 1},
        {"num_heads": 0},
        {"num_blocks": -1},
        {"kind": "other"},
    ],
)
def test_impossible_configs(changes):
    with pytest.raises(ValueError, match="validation error"):
        config(**changes)


def test_a_new_vocabulary_keeps_the_rows_that_it_can():
    heads = make("draft_vocab")
    before = {t: heads.projection[i].clone() for i, t in enumerate(heads.token_map.tolist())}
    lm_head = torch.randn(heads.config.vocab_size, heads.config.hidden_size)
    known, fresh = heads.token_map[1].item(), 0
    while fresh in before:
        fresh += 1
    heads.change_vocabulary(torch.tensor([fresh, known]), lm_head)
    assert heads.config.draft_vocab_size == 2
    assert heads.token_map.tolist() == [fresh, known]
    torch.testing.assert_close(heads.projection[0], lm_head[fresh])
    torch.testing.assert_close(heads.projection[1], before[known])
    assert heads(torch.randn(3, heads.config.hidden_size)).shape[-1] == 2
