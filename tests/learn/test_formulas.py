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
