"""4-bit codes: taken out of GGUF blocks as they are, and multiplied as what they stand for."""

from __future__ import annotations

import gguf
import numpy as np
import pytest
import torch

from explorer.kernels.int4 import Int4Linear, supports
from explorer.weights.gguf_codes import eight_bit_codes, four_bit_codes

CPU = torch.device("cpu")
FOUR_BIT = {"Q4_0": gguf.GGMLQuantizationType.Q4_0, "Q4_1": gguf.GGMLQuantizationType.Q4_1}


class Tensor:
    """What gguf_codes reads of a gguf.ReaderTensor."""

    def __init__(self, weights: np.ndarray, kind: gguf.GGMLQuantizationType) -> None:
        self.tensor_type = kind
        self.data = gguf.quants.quantize(weights, kind)
        self.shape = weights.shape


def weights(rows: int = 64, columns: int = 96) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((rows, columns)).astype(np.float32)


@pytest.mark.parametrize("kind", FOUR_BIT.values(), ids=FOUR_BIT)
def test_codes_dequantise_to_what_ggml_says(kind):
    tensor = Tensor(weights(), kind)
    codes = four_bit_codes(tensor)
    assert codes.codes.max() <= 15
    assert np.array_equal(codes.dequantised(), gguf.quants.dequantize(tensor.data, kind))


def test_eight_bit_codes_dequantise_to_what_ggml_says():
    tensor = Tensor(weights(), gguf.GGMLQuantizationType.Q8_0)
    expected = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
    assert np.array_equal(eight_bit_codes(tensor).dequantised(), expected)


@pytest.mark.parametrize("kind", FOUR_BIT.values(), ids=FOUR_BIT)
@pytest.mark.parametrize("biased", [False, True])
def test_the_product_is_that_of_the_dequantised_matrix(kind, biased):
    codes = four_bit_codes(Tensor(weights(), kind))
    bias = torch.randn(64) if biased else None
    layer = Int4Linear(codes, bias, CPU)
    x = torch.randn(2, 5, 96).bfloat16()
    expected = x.float() @ torch.from_numpy(codes.dequantised()).T
    if biased:
        expected += bias.bfloat16().float()
    assert layer(x).shape == (2, 5, 64)
    torch.testing.assert_close(layer(x).float(), expected, atol=0.1, rtol=0.02)


def test_a_row_does_not_depend_on_the_rows_beside_it():
    layer = Int4Linear(four_bit_codes(Tensor(weights(), FOUR_BIT["Q4_1"])), None, CPU)
    x = torch.randn(64, 96).bfloat16()
    whole = layer(x)
    assert all(torch.equal(layer(x[:n]), whole[:n]) for n in (1, 2, 3, 5, 8, 33))


def test_odd_shapes_are_left_to_bf16():
    assert not supports(four_bit_codes(Tensor(weights(rows=63), FOUR_BIT["Q4_1"])), CPU)
