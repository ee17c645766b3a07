"""Products in bfloat16 only where the machine has the arithmetic."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from explorer.training.loss import sparse_cross_entropy
from explorer.training.precision import compute_dtype, mixed_precision

CPU = torch.device("cpu")


@pytest.fixture(params=[True, False])
def dtype(request, monkeypatch):
    monkeypatch.setattr(
        torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: request.param, raising=False
    )
    return torch.bfloat16 if request.param else torch.float32


def test_the_processor_decides(dtype):
    assert compute_dtype(CPU) is dtype
    assert compute_dtype(torch.device("cuda")) is torch.bfloat16


def test_layers_compute_in_it(dtype):
    with mixed_precision(CPU):
        assert F.linear(torch.ones(2, 3), torch.ones(4, 3)).dtype is dtype


def test_so_does_the_loss(dtype):
    # 1 + 2⁻¹⁰ is 1 in bfloat16.
    features, projection = torch.ones(1, 1), torch.tensor([[1 + 2**-10], [0.0]])
    loss = sparse_cross_entropy(features, projection, torch.tensor([[0]]), torch.tensor([[1.0]]))
    exact = torch.tensor([1 + 2**-10, 0.0]).softmax(0)[0].log().neg()
    assert (loss == pytest.approx(exact.item(), abs=1e-6)) == (dtype is torch.float32)
