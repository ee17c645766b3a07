import numpy as np
import pytest

from explorer.analysis.joint_counts import rank_rows
from explorer.analysis.ledger import ledger
from explorer.analysis.speedup import Samples, compare, lane_figures
from tests.analysis.made_up_runs import TIMES, made_up_run

CHAIN = [(0,), (0, 0), (0, 0, 0)]
WIDE = [(0,), (1,), (0, 0), (1, 0), (0, 0, 0)]


def random_rows(seed=0, length=200):
    return np.random.default_rng(seed).choice([-1, 0, 0, 0, 1, 2], size=(length, 3)).tolist()


def losses(found):
    return {(term.kind, term.head): term.change for term in found.terms}


def test_a_made_up_run_records_its_rows():
    rows = random_rows()
    assert rank_rows(made_up_run(rows, WIDE))[: len(rows) - 3].tolist() == rows[:-3]


@pytest.mark.parametrize("seed", range(5))
def test_the_terms_add_up_to_the_measured_speedup(seed):
    runs = [made_up_run(random_rows(seed + i), WIDE) for i in range(3)]
    found = ledger(runs)
    assert found.ideal + sum(term.change for term in found.terms) == pytest.approx(
        found.measured, abs=1e-12
    )
    assert found.terms[-1].after == found.measured
    ours = Samples.of_steps([step for run in runs for step in run.steps])
    plain = Samples.of_steps([step for run in runs for step in run.rival.steps])
    figures = compare(ours, plain)
    assert found.measured == pytest.approx(figures.speedup)
    assert found.tokens_per_step == pytest.approx(lane_figures(ours).tokens_per_step)
    assert found.watched < found.measured


@pytest.mark.parametrize(
    ("row", "paths", "cause"),
    [
        ([-1, 0, 0], CHAIN, ("head", 1)),
        ([0, -1, 0], CHAIN, ("head", 2)),
        ([0, 0, -1], CHAIN, ("head", 3)),
        ([1, 0, 0], CHAIN, ("rank", None)),
        ([0, 2, 0], CHAIN, ("rank", None)),
        ([0, 0, 0], CHAIN[:2], ("shallow", None)),
    ],
)
def test_each_step_is_booked_under_the_reason_why_it_stopped(row, paths, cause):
    found = ledger([made_up_run([row] * 60, paths)])
    lost = {name: change for name, change in losses(found).items() if name[0] in
            ("head", "rank", "shallow")}  # fmt: skip
    assert set(lost) == {cause}


def test_time_is_booked_where_it_was_spent():
    found = ledger([made_up_run([[0, 0, 0]] * 120, CHAIN, plain_ms=TIMES["verify"])])
    verify, heads, rest = (losses(found)[kind, None] for kind in ("verify", "heads", "bookkeeping"))
    assert verify == pytest.approx(0)
    assert heads < rest < 0
    dear = ledger([made_up_run([[0, 0, 0]] * 120, CHAIN, times=TIMES | {"heads": 12.0})])
    heads_term = next(term for term in dear.terms if term.kind == "heads")
    assert heads_term.if_fixed == pytest.approx(dear.measured * 24.5 / 12.5)


def test_an_oracle_head_goes_on_as_far_as_the_heads_after_it_were_right():
    found = ledger([made_up_run([[-1, 0, 1]] * 100, CHAIN)])
    term = next(term for term in found.terms if term.kind == "head")
    booked = round(-term.change * found.steps / 3)  # steps with a known row lose all three drafts
    assert term.if_fixed == pytest.approx(
        found.measured * (found.tokens + 3 * booked) / found.tokens
    )


def test_without_a_plain_lane_there_is_no_ledger():
    run = made_up_run([[0, 0, 0]] * 20, CHAIN)
    assert ledger([run.model_copy(update={"rival": None})]) is None
    assert ledger([]) is None
