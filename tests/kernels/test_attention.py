"""The fixed-order kernel: right, and the same bits whatever the layout."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from explorer.kernels.attention import SLOT_BLOCK, fixed_order_attention, pad_slots

HEADS, KV_HEADS, SIZE, CAPACITY = 6, 2, 16, 256


def slots(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    keys = torch.randn(KV_HEADS, CAPACITY, SIZE, generator=generator)
    return keys, torch.randn(KV_HEADS, CAPACITY, SIZE, generator=generator)


def attend(query, keys, values, mask) -> torch.Tensor:
    """query [n, heads, size], keys and values [kv heads, capacity, size] → [n, heads, size]."""
    out, _ = fixed_order_attention(
        None,
        query.transpose(0, 1)[None],
        keys.transpose(1, 2).contiguous(),
        values.contiguous(),
        mask[None, None],
        SIZE**-0.5,
    )
    return out[0]


@pytest.mark.parametrize("n", [1, 2, 7, 64])
@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_it_is_attention(n, scale):
    query = torch.randn(n, HEADS, SIZE, generator=torch.Generator().manual_seed(n)) * scale
    keys, values = slots()
    mask = torch.rand(n, 2 * SLOT_BLOCK) < 0.5
    mask[:, 0] = True
    ours = attend(query, keys, values, mask)
    theirs = F.scaled_dot_product_attention(
        query.transpose(0, 1)[None].double(),
        keys[None, :, : mask.shape[1]].double(),
        values[None, :, : mask.shape[1]].double(),
        attn_mask=mask[None, None],
        enable_gqa=True,
    )
    torch.testing.assert_close(
        ours, theirs[0].transpose(0, 1).float(), atol=2e-6 * scale, rtol=1e-4
    )


def test_a_row_does_not_depend_on_the_rows_beside_it():
    query = torch.randn(33, HEADS, SIZE, generator=torch.Generator().manual_seed(1))
    keys, values = slots()
    mask = torch.ones(33, 192, dtype=torch.bool).tril(100)
    whole = attend(query, keys, values, mask)
    for row in range(33):
        assert torch.equal(
            attend(query[row : row + 1], keys, values, mask[row : row + 1])[0], whole[row]
        )


@pytest.mark.parametrize("prefix", [0, 5, 63, 64, 100])
def test_a_row_does_not_depend_on_where_its_keys_lie(prefix):
    """The same keys in the same order, with siblings between them and without: the same bits."""
    keys, values = slots()
    query = torch.randn(1, HEADS, SIZE, generator=torch.Generator().manual_seed(2))
    path = [*range(prefix), prefix + 1, prefix + 4, prefix + 70]
    spread = torch.zeros(1, pad_slots(prefix + 71), dtype=torch.bool)
    spread[0, path] = True
    packed_keys, packed_values = torch.zeros_like(keys), torch.zeros_like(values)
    packed_keys[:, : len(path)], packed_values[:, : len(path)] = keys[:, path], values[:, path]
    packed = torch.zeros(1, pad_slots(len(path)), dtype=torch.bool)
    packed[0, : len(path)] = True
    assert torch.equal(
        attend(query, keys, values, spread), attend(query, packed_keys, packed_values, packed)
    )


def test_huge_scores_do_not_overflow():
    keys, values = slots()
    query = torch.full((1, HEADS, SIZE), 1e4)
    mask = torch.zeros(1, SLOT_BLOCK, dtype=torch.bool)
    mask[0, :9] = True
    assert torch.isfinite(attend(query, keys * 1e3, values, mask)).all()
