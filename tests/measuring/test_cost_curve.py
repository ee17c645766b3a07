"""The cost curve: what it computes from times, and that it leaves the model alone.

Times are faked: what a test measures on a busy machine proves nothing.
"""

import pytest
import torch
from pydantic import ValidationError

from explorer.analysis.cost_curve import CostCurve
from explorer.measuring import cost_curve
from explorer.measuring.cost_curve import filled_cache, measure_cost_curve, tree_rows
from tests.tiny_lab import tiny_model


def curve(rows, ratios):
    return CostCurve(
        context_length=8,
        rounds=1,
        one_row_ms=10,
        rows=rows,
        milliseconds=[10 * r for r in ratios],
        ratios=ratios,
    )


def test_between_and_beyond_measured_widths():
    c = curve([1, 4, 8], [1.0, 1.2, 2.0])
    assert c.at(1) == 1.0
    assert c.at(4) == pytest.approx(1.2)
    assert c.at(6) == pytest.approx(1.6)
    assert c.at(10) == pytest.approx(2.4)


def test_noise_never_makes_a_wider_pass_cheaper():
    c = curve([1, 4, 8, 16], [1.0, 0.9, 1.5, 1.4])
    assert [c.at(n) for n in (1, 4, 8, 16, 32)] == [1.0, 1.0, 1.5, 1.5, 1.5]


def test_a_curve_of_one_width():
    assert curve([1], [1.0]).at(64) == 1.0


@pytest.mark.parametrize(
    ("rows", "ratios"), [([4, 1], [1.2, 1.0]), ([1, 2], [1.0]), ([0, 1], [1, 1]), ([], [])]
)
def test_malformed_curves_are_refused(rows, ratios):
    with pytest.raises(ValidationError):
        curve(rows, ratios)


@pytest.fixture
def clock(monkeypatch):
    """A machine that takes 2 + n ms a pass and slows down by a third at every pass."""
    log = []

    def fake(model, cache, depths, mask):
        log.append(len(depths))
        return (2 + len(depths)) * 1.01 ** len(log)

    monkeypatch.setattr(cost_curve, "time_pass", fake)
    monkeypatch.setattr(cost_curve, "filled_cache", lambda model, length: None)
    return log


def test_a_drifting_machine_does_not_bend_the_curve(clock):
    c = measure_cost_curve(None, widths=[2, 7, 97], rounds=9)
    assert c.rows == [1, 2, 7, 97]
    # true costs (2 + n)/3; the machine became several times slower meanwhile
    assert c.ratios == pytest.approx([1, 4 / 3, 3, 33], rel=1e-3)
    assert c.ratios[0] == 1


def test_every_wide_pass_lies_between_one_row_passes(clock):
    measure_cost_curve(None, widths=[2, 7], rounds=2)
    assert clock[3:] == [1, 2, 1, 7, 1] * 2


def test_tree_rows_are_a_tree():
    depths, mask = tree_rows(6)
    assert depths.tolist() == [0, 1, 1, 1, 2, 2]
    assert mask[5].tolist() == [True, True, False, False, False, True]
    assert torch.equal(mask.sum(1), depths + 1)


def test_on_a_real_model_the_cache_ends_as_it_began(monkeypatch):
    model = tiny_model()
    caches = []

    def remembering(model, length):
        caches.append(filled_cache(model, length))
        return caches[-1]

    monkeypatch.setattr(cost_curve, "filled_cache", remembering)
    c = measure_cost_curve(model, widths=[4, 16], context_length=20, rounds=2)
    assert c.context_length == 20
    assert all(ms > 0 for ms in c.milliseconds)
    (cache,) = caches
    assert cache.length == 20
    fresh = filled_cache(model, 20)
    for layer, expected in zip(cache.layers, fresh.layers, strict=True):
        for ours, theirs in zip(layer.committed(), expected.committed(), strict=True):
            assert torch.equal(ours, theirs)


def test_an_empty_context_is_a_context():
    assert measure_cost_curve(tiny_model(), widths=[2], context_length=0, rounds=1).rows == [1, 2]
