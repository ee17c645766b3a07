"""Heads in one compiled call, against the same heads in torch."""

import pytest
import torch

from explorer.heads.heads import MedusaHeads
from explorer.heads.heads_config import HeadsConfig
from explorer.heads.hydra import HydraHeads
from explorer.kernels.isa import instruction_set
from explorer.kernels.linears import dequantised, four_bit_blocks

pytestmark = pytest.mark.skipif(
    instruction_set() is None, reason="this CPU has none of the dot instructions"
)
VOCAB, DRAFT, HIDDEN, HEADS = 300, 200, 64, 3


def heads(kind, blocks):
    torch.manual_seed(0)
    config = HeadsConfig(
        architecture="hydra" if kind is HydraHeads else "medusa",
        kind="draft_vocab",
        num_heads=HEADS,
        num_blocks=blocks,
        hidden_size=HIDDEN,
        vocab_size=VOCAB,
        draft_vocab_size=DRAFT,
    )
    made = kind.create(config, 0.3 * torch.randn(VOCAB, HIDDEN), torch.randperm(VOCAB)[:DRAFT])
    with torch.no_grad():
        made.block_weight.normal_(0, 0.2)
        made.block_bias.normal_(0, 0.2)
        if kind is HydraHeads:
            made.path_weight.normal_(0, 0.1)
    made = made.to(torch.bfloat16)
    if kind is HydraHeads:
        made.use_embeddings(torch.randn(VOCAB, HIDDEN).bfloat16())
    return made


def pair(kind, blocks):
    """The same heads in torch and compiled, the former with the latter's rounded weights."""
    dense, compiled = heads(kind, blocks), heads(kind, blocks)
    compiled.pack()
    assert compiled.compiled is not None
    dense = dense.float()
    matrices = [dense.projection, dense.block_weight]
    if kind is HydraHeads:
        matrices.append(dense.path_weight)
    with torch.no_grad():
        for matrix in matrices:
            rows = matrix.reshape(-1, HIDDEN)
            matrix.copy_(dequantised(four_bit_blocks(rows)).view_as(matrix))
    return dense, compiled


@pytest.mark.parametrize("blocks", [1, 2, 3])
@pytest.mark.parametrize("kind", [MedusaHeads, HydraHeads])
@pytest.mark.parametrize("m", [1, 3, 8])
def test_they_propose_what_torch_proposes(kind, blocks, m):
    dense, compiled = pair(kind, blocks)
    hidden, path = torch.randn(m, HIDDEN), torch.randint(0, VOCAB, (m, HEADS))
    ids, probs = compiled.propose(hidden, 16, path)
    right, chances = dense.propose(hidden, DRAFT, path)
    assert ids.shape == probs.shape == (m, HEADS, 16)
    assert (probs.diff(dim=-1) <= 0).all()
    everyone = torch.zeros(m, HEADS, VOCAB).scatter_(2, right, chances)
    assert (everyone.gather(2, ids) - probs).abs().max() < 0.1


@pytest.mark.parametrize("kind", [MedusaHeads, HydraHeads])
def test_a_row_does_not_depend_on_its_neighbours(kind):
    compiled = pair(kind, 2)[1]
    hidden, path = torch.randn(5, HIDDEN), torch.randint(0, VOCAB, (5, HEADS))
    ids, probs = compiled.propose(hidden, 16, path)
    for i in range(5):
        alone = compiled.propose(hidden[i : i + 1], 16, path[i : i + 1])
        assert torch.equal(alone[0][0], ids[i])
        assert torch.equal(alone[1][0], probs[i])


def test_its_logits_are_those_that_it_proposes_the_best_of():
    compiled = pair(MedusaHeads, 2)[1]
    hidden = torch.randn(3, HIDDEN)
    logits = compiled.draft_logits(hidden)
    assert logits.shape == (HEADS, 3, DRAFT)
    ids, probs = compiled.best(logits, 8)
    proposed = compiled.propose(hidden, 8)
    assert torch.equal(ids.transpose(0, 1), proposed[0])
    assert (probs.transpose(0, 1) - proposed[1]).abs().max() < 1e-6


def test_hydra_goes_on_as_it_proposes():
    compiled = pair(HydraHeads, 2)[1]
    hidden, path = torch.randn(1, HIDDEN), torch.randint(0, VOCAB, (4, HEADS))
    whole = compiled.propose(hidden.expand(4, -1), 16, path)
    for depth in range(1, HEADS + 1):
        ids, probs = compiled.propose_next(hidden, path[:, :depth], 16)
        assert torch.equal(ids, whole[0][:, depth - 1])
        assert torch.equal(probs, whole[1][:, depth - 1])


def test_the_best_are_the_best_and_of_equal_ones_the_first():
    compiled = pair(MedusaHeads, 1)[1]
    ids, _ = compiled.propose(torch.zeros(1, HIDDEN), DRAFT)
    assert sorted(ids[0, 0].tolist()) == sorted(compiled.token_map.tolist())
    assert compiled.propose(torch.zeros(1, HIDDEN), 10 * DRAFT)[0].shape[-1] == DRAFT


def test_embeddings_of_another_type_are_read_too():
    _, compiled = pair(HydraHeads, 2)
    path = torch.randint(0, VOCAB, (3, 2))
    hidden = torch.randn(1, HIDDEN)
    before = compiled.propose_next(hidden, path, 8)
    compiled.embeddings = compiled.embeddings.float()
    after = compiled.propose_next(hidden, path, 8)
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))
