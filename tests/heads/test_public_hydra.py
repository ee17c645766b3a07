"""Hydra heads as their authors write them: read, computed as they compute them, or refused."""

import pytest
import torch
import torch.nn.functional as F

from explorer.heads.checkpoints import load_heads, save_heads
from explorer.heads.hydra import first_heads
from explorer.measuring.head_set import HeadSet
from explorer.measuring.parameters import parameters_of
from explorer.records.errors import ExplorerError
from tests.heads.checkpoint_files import base, public_config
from tests.heads.test_heads import H, K, V
from tests.tiny_lab import VOCAB, tiny_lab


def authors_tensors(num_blocks=2, heads=K, size=H, vocab=V):
    generator = torch.Generator().manual_seed(2)

    def normal(*shape):
        return torch.randn(shape, generator=generator) * 0.3

    tensors = {}
    for k in range(heads):
        wide = (size, (k + 2) * size)
        shapes = {f"hydra_mlp.{k}.{b}.linear": (size, size) for b in range(num_blocks)}
        shapes |= {f"hydra_mlp.{k}.0.linear": wide, f"hydra_mlp.{k}.0.res_connection": wide}
        shapes[f"hydra_lm_head.{k}"] = (vocab, size)
        for name, shape in shapes.items():
            tensors |= {f"{name}.weight": normal(*shape), f"{name}.bias": normal(shape[0])}
    return tensors


def write(folder, tensors, **changes):
    torch.save(tensors, folder / "hydra_lm_head.pt")
    public_config(folder, **changes)
    return folder


def expected_logits(tensors, k, num_blocks, hidden, embedded):
    """One head on hidden [m, H] and the embeddings [m, k + 1, H] of the tokens that follow."""

    def linear(name, x):
        return F.linear(x, tensors[f"{name}.weight"], tensors[f"{name}.bias"])

    x = torch.cat([hidden, embedded.flatten(1)], dim=-1)
    x = linear(f"hydra_mlp.{k}.0.res_connection", x) + F.silu(linear(f"hydra_mlp.{k}.0.linear", x))
    for b in range(1, num_blocks):
        x = x + F.silu(linear(f"hydra_mlp.{k}.{b}.linear", x))
    return linear(f"hydra_lm_head.{k}", x)


def joined(folder, table):
    return load_heads(folder, base(embeddings=table))


@pytest.mark.parametrize("num_blocks", [1, 3])
def test_they_guess_what_their_authors_compute(tmp_path, num_blocks):
    tensors, table = authors_tensors(num_blocks), torch.randn(V, H) * 3
    heads = joined(write(tmp_path, tensors), table)
    assert (heads.config.num_heads, heads.config.num_blocks) == (K, num_blocks)
    assert heads.origin.format == "hydra"
    assert parameters_of(heads) == sum(tensor.numel() for tensor in tensors.values())
    hidden, path = torch.randn(5, H), torch.randint(V, (5, K))
    logits = heads(hidden, path)
    for k in range(K):
        seen = table[path[:, : k + 1]]
        wanted = expected_logits(tensors, k, num_blocks, hidden, seen)
        torch.testing.assert_close(logits[k], wanted, atol=1e-4, rtol=1e-4)
        alone = expected_logits(tensors, k, num_blocks, hidden[:1].expand(5, H), seen)
        ids, probs = heads.propose_next(hidden[:1], path[:, : k + 1], 4)
        assert torch.equal(ids, alone.topk(4).indices)
        torch.testing.assert_close(probs, alone.softmax(-1).topk(4).values, atol=1e-5, rtol=1e-4)


def test_they_come_back_from_the_own_format_and_fewer_can_be_used(tmp_path):
    table = torch.randn(V, H)
    heads = joined(write(tmp_path, authors_tensors()), table)
    back = joined(save_heads(heads, tmp_path / "own"), table)
    hidden, path = torch.randn(3, H), torch.randint(V, (3, K))
    assert torch.equal(back(hidden, path), heads(hidden, path))
    fewer = first_heads(heads, 2, tmp_path)
    fewer.use_embeddings(table)
    torch.testing.assert_close(fewer(hidden, path[:, :2]), heads(hidden, path)[:2])


def test_where_config_json_says_otherwise_the_tensors_count(tmp_path):
    heads = joined(write(tmp_path, authors_tensors(), hydra_num_heads=9), torch.randn(V, H))
    assert any("hydra_num_heads = 9" in said for said in heads.origin.differences)


def test_decoding_with_them_writes_the_text_of_plain_decoding(tmp_path):
    lab = tiny_lab(architecture="hydra")
    write(tmp_path, authors_tensors(size=32, vocab=VOCAB))
    kept = lab.heads["hydra"]
    heads = load_heads(tmp_path, lab.model)
    heads.pack()
    lab.heads["hydra"] = HeadSet(heads, "public", kept.auto_trees, kept.fixed_trees)
    race = lab.run_race("some prompt", method="hydra", max_new_tokens=24, tree="cartesian:2,2")
    assert race.new_token_ids == race.rival.new_token_ids


def without(tensors, part):
    return {name: tensor for name, tensor in tensors.items() if part not in name}


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda t: t | {"prefix_embedding_layer.layers.0.mlp.w": torch.ones(1)}, "Hydra++"),
        (lambda t: without(t, "res_connection"), "grounded"),
        (lambda t: without(t, "mlp.1.1.linear.bias"), "incomplete"),
        (lambda t: t | {"hydra_lm_head.0.weight": torch.ones(0, H)}, "not whole"),
        (lambda t: t | {"hydra_mlp.1.0.linear.weight": torch.ones(H, H)}, "differ in shape"),
        (lambda t: t | {"hydra_mlp.99999.0.linear.bias": torch.ones(H)}, "no Hydra checkpoint"),
        (lambda t: t | {"hydra_lm_head.0.bias": torch.ones(V).int()}, "stored as int32"),
        (lambda t: t | {"hydra_lm_head.0.bias": torch.full((V,), torch.nan)}, "not numbers"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(tmp_path, spoil, said):
    write(tmp_path, spoil(authors_tensors()))
    with pytest.raises(ExplorerError, match=said) as refused:
        load_heads(tmp_path)
    assert "\n" not in str(refused.value)


def test_heads_of_an_earlier_hidden_state_are_refused(tmp_path):
    write(tmp_path, authors_tensors(), hidden_state_offset=1)
    with pytest.raises(ExplorerError, match="earlier layer"):
        load_heads(tmp_path)
