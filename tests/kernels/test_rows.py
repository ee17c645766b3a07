"""The argmax of rows of logits."""

import pytest
import torch

from explorer.kernels.rows import PART, argmax_rows


@pytest.mark.parametrize("width", [1, 7, PART, PART + 1, 49_152])
@pytest.mark.parametrize("n", [1, 5])
def test_it_is_torchs(n, width):
    logits = torch.randn(n, width)
    assert argmax_rows(logits) == logits.argmax(dim=-1).tolist()
    assert argmax_rows(-logits.abs() - 1e6) == (-logits.abs() - 1e6).argmax(dim=-1).tolist()


def test_of_equal_ones_the_first():
    logits = torch.zeros(2, 3 * PART)
    logits[1, [PART + 3, 2 * PART + 1]] = 5.0
    assert argmax_rows(logits) == [0, PART + 3]


def test_other_dtypes_and_strides():
    logits = torch.randn(300, 4, dtype=torch.float32).T
    assert argmax_rows(logits) == logits.argmax(dim=-1).tolist()
    assert argmax_rows(logits.double()) == logits.argmax(dim=-1).tolist()
    hopeless = torch.full((1, 10), -torch.inf)
    assert argmax_rows(hopeless) == [0]
