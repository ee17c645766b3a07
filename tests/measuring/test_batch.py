"""Batches: the predicted fading by hand, and the whole of it on a tiny model. Times are faked."""

import threading

import numpy as np
import pytest

from explorer.analysis.joint_counts import RankedText
from explorer.decoding.tree import chain
from explorer.measuring import batch as module
from explorer.measuring.batch import measure_batches
from explorer.measuring.decoded import Decoded
from explorer.records.errors import ExplorerError
from tests.tiny_lab import tiny_lab

PROMPTS = [{"prompt": "def f"}, {"prompt": "hello"}]
# Head 1's first guess is right at every position, the others never.
RIGHT = Decoded(
    [RankedText(np.array([[0, -1, -1]] * 40, dtype=np.int16), 9)], heads_ms=1.0, rest_ms=0.5
)


@pytest.fixture
def machine(monkeypatch):
    """A pass takes 20 ms, whatever it holds up to 8 rows, and 2.5 ms for each row beyond."""
    log = []

    class Passes:
        def __init__(self, model, batch, context_length, widest):
            self.batch, self.context_length = batch, context_length

        def milliseconds(self, n):
            log.append((self.batch, n))
            return max(20.0, 2.5 * self.batch * n)

    monkeypatch.setattr(module, "BatchPasses", Passes)
    monkeypatch.setattr(module, "time_heads", lambda model, heads, sequences: 0.5 * sequences)
    return log


def test_the_gain_ends_at_the_compute_roof(machine):
    report = measure_batches(tiny_lab(tree=chain(1)), [], decoded=RIGHT, rounds=3)
    assert (report.rows, report.tokens_per_step, report.positions) == (2, 2.0, 40)
    assert report.most_rows_per_second == pytest.approx(400)
    plain = [size.plain_tokens_per_second for size in report.sizes]
    assert plain == pytest.approx([50, 100, 200, 400])
    # S = 2·T(b)/(T(2b) + b·(0.5 + 0.5))
    speedups = [size.speedup for size in report.sizes]
    assert speedups == pytest.approx([40 / 21, 40 / 22, 40 / 24, 40 / 48])
    assert report.sizes[1].tokens_per_second == pytest.approx(100 * 40 / 22)
    assert (report.gone_from, report.best_gone_from) == (8, 8)
    assert [size.best_rows for size in report.sizes] == [2, 2, 2, 1]
    assert report.sizes[-1].best_speedup == 1.0
    assert "no gain from batch size 8 on" in report.sentence


def test_a_tree_that_is_too_large_loses_its_gain_before_the_best_one(machine):
    report = measure_batches(tiny_lab(tree=chain(3)), [], decoded=RIGHT, rounds=1)
    assert report.rows == 4
    assert report.gone_from == 4  # 4 · 4 rows take 40 ms, and 4 ms for the rest
    assert [size.best_rows for size in report.sizes] == [2, 2, 2, 1]


def test_heads_that_are_never_right_gain_nothing(machine):
    wrong = Decoded([RankedText(np.full((40, 3), -1, dtype=np.int16), 9)], 1.0, 0.5)
    report = measure_batches(tiny_lab(tree=chain(1)), [], decoded=wrong, rounds=1)
    assert (report.gone_from, report.best_gone_from) == (1, 1)
    assert "no gain" in report.sentence


def test_batch_sizes_take_turns_and_every_wide_pass_lies_between_narrow_ones(machine):
    measure_batches(tiny_lab(tree=chain(1)), [], decoded=RIGHT, rounds=2, sizes=[1, 2])
    warm_up = 2 * len(module.ROWS)
    turn = [n for wide in module.ROWS[1:] for n in (1, wide)] + [1]
    assert machine[warm_up:] == 2 * [(b, n) for b in (1, 2) for n in turn]


def test_cancelled_it_reports_on_what_it_finished(machine):
    cancel, shares = threading.Event(), []

    def progress(text, share):
        shares.append(share)
        if "round 2" in text:
            cancel.set()

    report = measure_batches(
        tiny_lab(), [], decoded=RIGHT, rounds=9, progress=progress, cancel=cancel
    )
    assert report.sizes[0].cost_curve.rounds == 2
    assert shares == sorted(shares)
    with pytest.raises(ExplorerError, match="before anything was measured"):
        measure_batches(tiny_lab(), [], decoded=RIGHT, cancel=cancel)


def test_on_a_tiny_model():
    lab = tiny_lab(tree=chain(2))
    report = measure_batches(lab, PROMPTS, max_new_tokens=24, sizes=[1, 2], rounds=1)
    assert report.positions > 0
    assert [size.batch for size in report.sizes] == [1, 2]
    assert report.sizes[1].cost_curve.rows == [1, 2, 3, 4, 8, 16]
    assert type(report).model_validate_json(report.model_dump_json()) == report


def test_hydra_heads_draft_for_every_sequence():
    lab = tiny_lab(tree=chain(2), architecture="hydra")
    report = measure_batches(lab, PROMPTS, method="hydra", max_new_tokens=24, sizes=[2], rounds=1)
    assert report.sizes[0].heads_ms > 0


def test_without_heads_it_is_refused():
    with pytest.raises(ExplorerError, match="needs Hydra heads"):
        measure_batches(tiny_lab(), PROMPTS, method="hydra")
