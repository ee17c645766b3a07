"""The inner loop of the integer products, for every layout, against NumPy."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.kernels.dot import TileProduct
from explorer.kernels.isa import ArmDot, Avx2, Vnni, instruction_set
from explorer.kernels.matrices import tiles_of
from explorer.weights.gguf_codes import Codes
from tests.kernels.jit import Kernel, Portable, assembly_for, expected, quantised

PORTABLE = [Portable(16, 8), Portable(8, 8), Portable(8, 4), Portable(4, 7)]
HERE = [isa for isa in [instruction_set()] if isa is not None]
SETS = [*HERE, *PORTABLE]
ROWS = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 33, 64, 128)


def label(isa):
    return f"{isa.name}-{isa.lanes}-{isa.code_bits}"


def matrix(bits, lanes, inputs, seed=0, extreme=False):
    """Codes of one tile."""
    random = np.random.default_rng(seed)
    low, high = (0, 16) if bits == 4 else (-128, 128)
    kind, shape = (np.uint8 if bits == 4 else np.int8), (lanes, inputs)
    codes = random.choice([low, high - 1], shape) if extreme else random.integers(low, high, shape)
    scale = random.uniform(1e-4, 0.02, (lanes, inputs // 32)).astype(np.float16).astype(np.float32)
    minimum = random.normal(0, 0.1, scale.shape).astype(np.float16).astype(np.float32)
    return Codes(codes.astype(kind), scale, minimum if bits == 4 else np.zeros_like(scale))


def run(isa, codes, records, start=None):
    bits = 4 if codes.codes.dtype == np.uint8 else 8
    tile = tiles_of(codes, isa.lanes)[0]
    out = np.zeros((len(records), isa.lanes), np.float32) if start is None else start.copy()
    kernel(isa, bits, start is not None)(tile, records, out)
    return out


@cache
def kernel(isa, bits, add):
    return Kernel(TileProduct(isa, bits, add))


@pytest.mark.parametrize("isa", SETS, ids=label)
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("inputs", [32, 64, 576, 1536])
def test_a_product_is_numpys(isa, bits, inputs):
    codes = matrix(bits, isa.lanes, inputs)
    x = np.random.default_rng(1).normal(0, 3, (5, inputs)).astype(np.float32)
    records, rows, scale = quantised(x)
    right = expected(codes.dequantised(), rows, scale)
    assert np.abs(run(isa, codes, records) - right).max() < 2e-5 * np.abs(right).max()


@pytest.mark.parametrize("isa", SETS, ids=label)
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("sign", [-1, 1])
def test_the_largest_codes_do_not_saturate(isa, bits, sign):
    codes = matrix(bits, isa.lanes, 96, extreme=True)
    records, rows, scale = quantised(np.full((3, 96), 5.0 * sign, np.float32))
    assert (np.abs(rows) == 127).all()
    right = expected(codes.dequantised(), rows, scale)
    assert np.abs(run(isa, codes, records) - right).max() < 2e-5 * np.abs(right).max() + 1e-6


@pytest.mark.parametrize("isa", SETS, ids=label)
@pytest.mark.parametrize("bits", [4, 8])
def test_a_row_is_the_same_bits_beside_any_others(isa, bits):
    codes = matrix(bits, isa.lanes, 160)
    x = np.random.default_rng(2).normal(size=(max(ROWS), 160)).astype(np.float32)
    records = quantised(x)[0]
    alone = np.concatenate([run(isa, codes, records[i : i + 1]) for i in range(len(records))])
    for n in ROWS:
        assert np.array_equal(run(isa, codes, records[:n]), alone[:n]), n


@pytest.mark.parametrize("isa", HERE, ids=label)
@pytest.mark.parametrize("bits", [4, 8])
def test_all_instruction_sets_give_the_same_bits(isa, bits):
    codes = matrix(bits, 16, 576, seed=3)
    records = quantised(np.random.default_rng(4).normal(size=(6, 576)).astype(np.float32))[0]

    def whole(one):
        parts = [codes.permuted(np.arange(i, i + one.lanes)) for i in range(0, 16, one.lanes)]
        return np.concatenate([run(one, part, records) for part in parts], axis=1)

    for other in PORTABLE:
        assert np.array_equal(whole(isa), whole(other)), label(other)


@given(st.lists(st.integers(-127, 127), min_size=32, max_size=32), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_any_codes_of_a_row(row, seed):
    for isa in HERE:
        codes = matrix(4, isa.lanes, 32, seed=seed)
        records, rows, scale = quantised(np.array([row], np.float32))
        right = expected(codes.dequantised(), rows, scale)
        assert np.abs(run(isa, codes, records) - right).max() < 1e-4 + 2e-5 * np.abs(right).max()


@pytest.mark.parametrize("isa", SETS, ids=label)
def test_adding_keeps_what_was_there(isa):
    codes = matrix(4, isa.lanes, 64)
    records = quantised(np.random.default_rng(5).normal(size=(3, 64)).astype(np.float32))[0]
    start = np.arange(3 * isa.lanes, dtype=np.float32).reshape(3, -1)
    assert np.array_equal(run(isa, codes, records, start), start + run(isa, codes, records))


@pytest.mark.parametrize("isa", SETS, ids=label)
def test_rows_of_zeros_give_zeros(isa):
    records = quantised(np.zeros((2, 64), np.float32))[0]
    assert not run(isa, matrix(4, isa.lanes, 64), records).any()


@pytest.mark.parametrize(
    ("isa", "triple", "cpu", "instruction"),
    [
        (Avx2(), "x86_64-linux-gnu", "znver3", "vpmaddubsw"),
        (Vnni(512), "x86_64-linux-gnu", "znver4", "vpdpbusd\t%zmm"),
        (Vnni(512), "x86_64-linux-gnu", "znver4", "zmm"),
        (Vnni(256), "x86_64-linux-gnu", "alderlake", "{vex}\tvpdpbusd"),
        (ArmDot(), "aarch64-linux-gnu", "neoverse-n1", "sdot"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("bits", [4, 8])
def test_each_set_compiles_to_its_instruction(isa, triple, cpu, instruction, bits):
    text = assembly_for(TileProduct(isa, bits, add=False), triple, cpu)
    wanted = instruction.partition("\t%")[0]
    assert wanted in text
    assert "call" not in text  # nothing is emulated by a function
