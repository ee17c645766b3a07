"""Rows as 8-bit codes, against NumPy."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from explorer.kernels.dot import GROUP, RECORD
from explorer.kernels.quantise import quantise_row
from tests.kernels.jit import quantised


@numba.njit
def _quantise(numbers, size, records):
    quantise_row(numbers, size, records)


def records_of(x):
    out = np.zeros((len(x) // GROUP, RECORD), np.uint8)
    _quantise(x.ctypes.data, len(x), out.ctypes.data)
    return out


@pytest.mark.parametrize(
    "x",
    [
        np.random.default_rng(0).normal(size=576),
        np.zeros(64),
        np.r_[np.zeros(32), np.ones(32)],
        np.linspace(-1e30, 1e30, 96),
        np.full(32, -0.25),
        np.r_[1.0, np.full(31, 1e-9)],
        np.arange(-16, 16) + 0.5,  # halves
    ],
)
def test_records_are_numpys(x):
    x = x.astype(np.float32)
    assert np.array_equal(records_of(x), quantised(x[None])[0][0])


@given(arrays(np.float32, 32, elements=st.floats(-65504, 65504, width=32)))
@settings(max_examples=100, deadline=None)
def test_a_number_is_off_by_half_a_step_at_most(x):
    record = records_of(x)[0]
    codes = record[:GROUP].view(np.int8).astype(np.float64)
    scale = float(record[GROUP : GROUP + 4].view(np.float32)[0])
    assert np.abs(codes * scale - x).max() <= 0.5001 * scale + 1e-37
