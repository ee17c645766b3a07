"""The floor of a step: bytes over bandwidth, by hand."""

import pytest

from explorer.analysis.floor import StepReads, floor_report, mean_context
from explorer.analysis.formulas import multiply_milliseconds, read_milliseconds

READS = StepReads(weights=90_000_000, heads=8_000_000, cache_per_token=20_000)


def test_bytes_over_bandwidth():
    assert read_milliseconds(100_000_000, 20.0) == pytest.approx(5.0)
    with pytest.raises(ValueError, match="must be above 0"):
        read_milliseconds(1, 0.0)


def test_a_step_reads_weights_heads_and_its_context():
    floor = READS.floor_at(100, 20.0)
    assert floor.bytes == 90_000_000 + 8_000_000 + 2_000_000
    assert floor.milliseconds == pytest.approx(5.0)
    assert READS.floor_at(0, 20.0).milliseconds == pytest.approx(4.9)


def test_a_report_puts_the_measured_steps_beside_their_floors():
    plain = StepReads(weights=90_000_000, heads=0, cache_per_token=20_000)
    steps = {"plain": 9.2, "medusa": 10.0, "draft-model": 12.0}
    report = floor_report(plain, {"medusa": READS}, 20.0, 100, steps)
    assert (report.bytes, report.context_length) == (92_000_000, 100)
    assert report.floor_ms == pytest.approx(4.6)
    assert report.step_over_floor == pytest.approx(2.0)
    assert set(report.methods) == {"medusa"}
    assert report.methods["medusa"].step_over_floor == pytest.approx(2.0)
    assert "reads 92.0 MB" in report.sentence
    assert "4.60 ms. It took 9.2 ms, 2.00 times that." in report.sentence
    assert "last-level cache" in report.sentence


def test_a_step_that_was_not_measured_is_not_compared():
    report = floor_report(READS, {}, 20.0, 0, {"plain": None})
    assert report.step_over_floor is None
    assert "It took" not in report.sentence


def test_the_mean_context_of_all_plain_steps():
    assert mean_context([]) == 0
    assert mean_context([(10, 3)]) == 11  # 10, 11 and 12 tokens
    assert mean_context([(10, 3), (100, 1)]) == round((10 + 11 + 12 + 100) / 4)


def test_many_rows_wait_for_arithmetic():
    reads = StepReads(100_000_000, 0, 0, row_operations=2_000_000_000)
    assert multiply_milliseconds(2e9, 1.0) == pytest.approx(2.0)
    few, many = reads.floor_at(0, 20.0, 1, 1.0), reads.floor_at(0, 20.0, 8, 1.0)
    assert (few.milliseconds, few.arithmetic_ms) == pytest.approx((5.0, 2.0))
    assert (many.milliseconds, many.arithmetic_ms) == pytest.approx((16.0, 16.0))
    assert reads.floor_at(0, 20.0, 8).milliseconds == pytest.approx(5.0)
