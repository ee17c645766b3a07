import pytest
import torch

from explorer.training.loss import ROWS_AT_A_TIME, sparse_cross_entropy


def example(rows: int, requires_grad: bool = True):
    generator = torch.Generator().manual_seed(rows)
    features = torch.randn(rows, 8, generator=generator, requires_grad=requires_grad)
    projection = torch.randn(20, 8, generator=generator, requires_grad=requires_grad)
    ids = torch.randint(0, 20, (rows, 3), generator=generator)
    return features, projection, ids, torch.rand(rows, 3, generator=generator)


@pytest.mark.parametrize("rows", [1, ROWS_AT_A_TIME, 2 * ROWS_AT_A_TIME + 5])
def test_equals_cross_entropy_and_its_gradient(rows):
    features, projection, ids, weights = example(rows)
    loss = sparse_cross_entropy(features, projection, ids, weights, torch.float32)
    (3 * loss).backward()
    found = features.grad.clone(), projection.grad.clone()
    features.grad = projection.grad = None
    expected = -((features @ projection.T).log_softmax(-1).gather(-1, ids) * weights).sum()
    (3 * expected).backward()
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(found, (features.grad, projection.grad), atol=1e-4, rtol=1e-4)


def test_a_fixed_projection_gets_no_gradient():
    features, projection, ids, weights = example(4)
    sparse_cross_entropy(features, projection.detach(), ids, weights).backward()
    assert features.grad is not None
    assert projection.grad is None


def test_rows_without_weight_do_not_count():
    features, projection, ids, _ = example(4)
    loss = sparse_cross_entropy(features, projection, ids, torch.zeros(4, 3))
    loss.backward()
    assert loss == 0
    assert not features.grad.any()


def test_large_logits_do_not_overflow():
    features, projection, ids, weights = example(4, requires_grad=False)
    assert torch.isfinite(sparse_cross_entropy(features * 1e4, projection, ids, weights))
