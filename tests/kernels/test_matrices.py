"""Quantised matrices: packing, products over many threads, the linear layer."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.kernels.isa import instruction_set
from explorer.kernels.matrices import IntegerLinear, IntegerMatrix, runs
from explorer.weights.gguf_codes import Codes
from tests.kernels.jit import expected, quantised

pytestmark = pytest.mark.skipif(
    instruction_set() is None, reason="this CPU has none of the dot instructions"
)


def codes(rows, inputs, bits, seed=0):
    random = np.random.default_rng(seed)
    low, high, kind = (0, 16, np.uint8) if bits == 4 else (-128, 128, np.int8)
    scale = random.uniform(0.001, 0.1, (rows, inputs // 32)).astype(np.float16).astype(np.float32)
    offset = -8 * scale if bits == 4 else np.zeros_like(scale)
    return Codes(random.integers(low, high, (rows, inputs)).astype(kind), scale, offset)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize(("rows", "inputs"), [(8, 32), (1, 64), (37, 96), (192, 576), (300, 32)])
@pytest.mark.parametrize("n", [1, 2, 5, 128])
def test_a_product_is_that_of_the_dequantised_matrix(bits, rows, inputs, n):
    stored = codes(rows, inputs, bits)
    x = np.random.default_rng(1).normal(size=(n, inputs)).astype(np.float32)
    found = IntegerMatrix(stored)(torch.from_numpy(x)).numpy()
    right = expected(stored.dequantised(), *quantised(x)[1:])
    assert found.shape == (n, rows)
    assert np.abs(found - right).max() < 2e-5 * np.abs(right).max()


@given(st.integers(1, 40), st.integers(0, 2**32 - 1), st.sampled_from([4, 8]))
@settings(max_examples=30, deadline=None)
def test_a_row_does_not_depend_on_its_neighbours(n, seed, bits):
    matrix = IntegerMatrix(codes(40, 64, bits, seed))
    x = torch.randn(n, 64, generator=torch.Generator().manual_seed(seed))
    whole = matrix(x)
    assert torch.equal(whole, torch.cat([matrix(row[None]) for row in x]))


@pytest.mark.parametrize("bits", [4, 8])
def test_codes_come_back_as_they_were(bits):
    stored = codes(50, 96, bits)
    rows = torch.tensor([49, 0, 17, 17, 31])
    back = IntegerMatrix(stored).codes(rows)
    for ours, theirs in zip(
        (back.codes, back.scale, back.offset),
        (stored.codes, stored.scale, stored.offset),
        strict=True,
    ):
        assert np.array_equal(ours, theirs[rows.numpy()])


def test_a_layer_adds_its_bias_and_keeps_shape_and_dtype():
    stored, bias = codes(24, 64, 4), torch.arange(24.0)
    layer = IntegerLinear(stored, bias)
    x = torch.randn(2, 3, 64, dtype=torch.bfloat16)
    without = IntegerLinear(stored, None)(x)
    assert layer(x).shape == (2, 3, 24)
    assert layer(x).dtype == torch.bfloat16
    assert torch.allclose(layer(x).float(), without.float() + bias, atol=0.2)
    assert layer(x[:0]).shape == (0, 3, 24)


def test_what_runs():
    assert runs(codes(8, 64, 4))
    assert not runs(Codes(np.zeros((8, 48), np.uint8), np.ones((8, 1)), np.zeros((8, 1))))
