from __future__ import annotations

import numpy as np
import pytest
import torch

from explorer.kernels.lm_head import SHORTLIST, LMHead, rows_of_codes, rows_of_weight, top_columns
from explorer.weights.gguf_codes import Codes


@pytest.mark.parametrize(("width", "k"), [(5, 3), (640, 5), (4096, 16), (4099, 16), (9000, 200)])
def test_top_columns_are_topk(width, k):
    matrix = torch.randn(7, width, generator=torch.Generator().manual_seed(width))
    best = top_columns(matrix, k)
    assert torch.equal(matrix.gather(1, best), matrix.topk(k, dim=-1).values)


def bf16_head(vocab: int = 3000, hidden: int = 64) -> LMHead:
    weight = torch.randn(vocab, hidden, generator=torch.Generator().manual_seed(0)).bfloat16()
    return LMHead(weight, rows_of_weight(weight))


def test_the_shortlist_is_float32_where_bf16_would_tie():
    head = bf16_head()
    hidden = (3 * torch.randn(9, 64, generator=torch.Generator().manual_seed(1))).bfloat16()
    exact = hidden.double() @ head.weight.double().T
    logits = head(hidden)
    assert logits.dtype == torch.float32
    assert torch.equal(logits.argmax(-1), exact.argmax(-1))
    best = exact.topk(5, dim=-1)
    # Right to float32, which bf16 (0.25 apart at these sizes) is not.
    torch.testing.assert_close(
        logits.gather(1, best.indices), best.values.float(), atol=0, rtol=1e-6
    )


def test_a_row_does_not_depend_on_the_rows_beside_it():
    head = bf16_head()
    head.most_rows, head.padded = 16, True
    hidden = torch.randn(37, 64, generator=torch.Generator().manual_seed(1)).bfloat16()
    whole = head(hidden)
    for n in (1, 2, 16, 17):
        assert torch.equal(head(hidden[:n]), whole[:n])


def test_rows_of_codes_are_the_codes_themselves():
    rng = np.random.default_rng(0)
    codes = Codes(
        rng.integers(-127, 128, (40, 64)).astype(np.int8),
        rng.random((40, 2)).astype(np.float32),
        np.zeros((40, 2), np.float32),
    )
    ids = torch.tensor([3, 39, 3])
    assert np.array_equal(rows_of_codes(codes)(ids).numpy(), codes.dequantised()[ids])


def test_softcap_scale_and_bias():
    weight = torch.randn(50, 8, generator=torch.Generator().manual_seed(0))
    hidden = torch.randn(3, 8, generator=torch.Generator().manual_seed(1))
    bias = torch.randn(50, generator=torch.Generator().manual_seed(2))
    head = LMHead(weight, rows_of_weight(weight), bias=bias, softcap=5.0, scale=0.5)
    expected = torch.tanh((hidden @ weight.T + bias) * 0.5 / 5.0) * 5.0
    torch.testing.assert_close(head(hidden), expected)
    assert SHORTLIST >= 5
