"""The figures that a record keeps of rows of logits."""

import pytest
import torch

from explorer.kernels.row_figures import _figures_by_torch, row_figures


@pytest.mark.parametrize("width", [3, 64, 65, 49_152])
@pytest.mark.parametrize("n", [1, 2, 9])
def test_they_are_what_softmax_and_topk_give(n, width):
    logits = 4 * torch.randn(n, width)
    rows, tokens = torch.randint(n, (20,)), torch.randint(width, (20,))
    probs = logits.double().softmax(dim=-1)
    found = row_figures(logits, 5, rows, tokens)
    best = logits.topk(min(5, width), dim=-1)
    assert torch.equal(found.ids, best.indices)
    torch.testing.assert_close(
        found.probs.double(), probs.gather(1, best.indices), atol=1e-6, rtol=1e-5
    )
    torch.testing.assert_close(
        found.asked_probs.double(), probs[rows, tokens], atol=1e-6, rtol=1e-5
    )
    own = logits[rows, tokens]
    assert found.asked_ranks.tolist() == (logits[rows] > own[:, None]).sum(dim=-1).tolist()


def test_other_devices_and_dtypes_take_torchs_way_to_the_same():
    logits, rows, tokens = torch.randn(3, 500), torch.tensor([0, 2, 2]), torch.tensor([7, 0, 499])
    ours, torchs = row_figures(logits, 5, rows, tokens), _figures_by_torch(logits, 5, rows, tokens)
    double = row_figures(logits.double(), 5, rows, tokens)
    for other in (torchs, double):
        assert torch.equal(ours.ids, other.ids)
        assert torch.equal(ours.asked_ranks, other.asked_ranks)
        torch.testing.assert_close(ours.probs, other.probs)
        torch.testing.assert_close(ours.asked_probs, other.asked_probs)


def test_equal_logits_and_infinities():
    flat = row_figures(torch.zeros(1, 100), 5, torch.tensor([0]), torch.tensor([99]))
    assert flat.ids.tolist() == [[0, 1, 2, 3, 4]]
    assert flat.asked_ranks.tolist() == [0]
    assert flat.asked_probs.item() == pytest.approx(0.01)
    masked = torch.full((1, 100), -torch.inf)
    masked[0, 40] = 1.0
    found = row_figures(masked, 2, torch.tensor([0]), torch.tensor([40]))
    assert found.ids[0, 0] == 40
    assert found.probs[0].tolist() == [pytest.approx(1.0), pytest.approx(0.0, abs=1e-6)]


def test_nothing_asked():
    nothing = torch.empty(0, dtype=torch.int64)
    found = row_figures(torch.randn(2, 50), 3, nothing, nothing)
    assert found.ids.shape == (2, 3)
    assert found.asked_probs.shape == (0,)
