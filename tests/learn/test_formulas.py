"""The formulas that sliders move are those of Python."""

import pytest

from explorer.analysis import formulas
from explorer.learn.memory_wall import numbers
from tests.node import ask_module

CASES = [(70e9, 16, 3.35e12, 989.4e12, 1), (7e9, 4, 1e12, 165e12, 640), (135e6, 5.9, 3e10, 3e11, 3)]


@pytest.mark.parametrize("case", CASES)
def test_a_pass_costs_the_same_in_both(case):
    parameters, bits, bandwidth, flops, rows = case
    shown = ask_module(
        "learn/formulas.js",
        """(([parameters, bits, bandwidth, flops, rows]) => [
          module.weightBytes(parameters, bits),
          module.arithmeticIntensity(bits, rows),
          module.passSeconds(parameters, bits, bandwidth, flops, rows).whole,
          module.freeRows(bits, bandwidth, flops),
        ])(given)""",
        case,
    )
    assert shown == pytest.approx(
        [
            formulas.weight_bytes(parameters, bits),
            formulas.arithmetic_intensity(bits, rows),
            formulas.pass_seconds(parameters, bits, bandwidth, flops, rows),
            formulas.free_rows(bits, bandwidth, flops),
        ]
    )


def test_a_model_of_70_billion():
    said = numbers()
    assert said["bytes_16"] == 140e9
    assert said["bytes_4"] == 35e9
    assert said["intensity"] == 1
    assert said["idle"] == pytest.approx(1 - 2 / 2 * 3.35 / 989.4)
    assert said["rows_16"] == pytest.approx(989.4 / 3.35)


def test_idle_share_and_free_rows_agree():
    rows = formulas.free_rows(16, 2e12, 300e12)
    assert formulas.idle_share(16, 2e12, 300e12, rows) == pytest.approx(0)
    assert formulas.idle_share(16, 2e12, 300e12, rows / 2) == pytest.approx(0.5)
    assert formulas.idle_share(16, 2e12, 300e12, 2 * rows) == 0


@pytest.mark.parametrize(
    ("alpha", "k", "ratio", "cost"), [(0.8, 4, 0.1, 1.4), (1, 3, 0, 1), (0, 5, 0.3, 2)]
)
def test_a_chain_pays_the_same_in_both(alpha, k, ratio, cost):
    shown = ask_module(
        "learn/formulas.js",
        "[module.expectedTokens(given[0], given[1]), module.speedupAtCost(...given)]",
        [alpha, k, ratio, cost],
    )
    expected = formulas.expected_tokens(alpha, k), formulas.speedup_at_cost(alpha, k, ratio, cost)
    assert shown == pytest.approx(expected)


@pytest.mark.parametrize("gpus", [1, 2, 8])
def test_memory_and_links_are_the_same_in_both(gpus):
    shown = ask_module(
        "learn/formulas.js",
        """(([gpus]) => {
          const model = { layers: 80, kv_heads: 8, head_size: 128, width: 8192 };
          const machine = { memory: 3e12, link: 4e11, latency: 1e-5 };
          return [
            module.kvCacheBytes(model, 8192, 2),
            module.tensorParallelSeconds(model, 35e9, gpus, machine).whole,
          ];
        })(given)""",
        [gpus],
    )
    assert shown == pytest.approx(
        [
            formulas.kv_cache_bytes(80, 8, 128, 8192, 2),
            formulas.tensor_parallel_seconds(35e9, 80, 8192, gpus, 3e12, 4e11, 1e-5),
        ]
    )


def test_a_cache_and_a_sum_over_gpus_by_hand():
    # Llama 3 70B: 80 layers, 8 heads of 128: 327,680 bytes a token in 16 bits
    assert formulas.kv_cache_bytes(80, 8, 128, 1) == 327_680
    assert formulas.all_reduce_seconds(1e9, 1, 1e9, 1.0) == 0
    assert formulas.all_reduce_seconds(1e9, 4, 1e9, 0.5) == pytest.approx(0.5 + 1.5)
