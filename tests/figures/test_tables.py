import pandas as pd
import pytest

from explorer.figures.tables import NODE_COLUMNS, STEP_COLUMNS, node_table, step_table
from tests.ui.fakes import FakeLab


@pytest.fixture(scope="module")
def trace():
    return FakeLab().trace()


def test_a_row_for_every_row_of_every_verify_pass(trace):
    table = node_table(trace)
    assert tuple(table.columns) == NODE_COLUMNS
    assert len(table) == sum(len(step.token_ids) for step in trace.steps)
    step, row = trace.steps[2], 5
    found = table[(table.step == 2) & (table.row == row)].iloc[0]
    shape = trace.trees[step.tree]
    assert found.path == tuple(shape.paths[row - 1])
    assert found["rank"] == found.path[-1]
    assert found.depth == len(found.path)
    assert found.parent == shape.parents[row]
    assert found.position == step.context_length + found.depth
    assert found.token_id == step.token_ids[row]
    assert found.verdict == step.verdicts[row]
    assert (found.draft_prob, found.joint_prob) == (step.draft_probs[row], step.joint_probs[row])
    assert (found.base_prob, found.base_rank) == (step.base_probs[row], step.base_ranks[row])


def test_acceptance_by_depth_can_be_counted_from_it(trace):
    from explorer.analysis.speedup import acceptance_by_depth

    table = node_table(trace)
    accepted = table[table.verdict == "accepted"].groupby("depth").size()
    expected = {d.depth: d.accepted for d in acceptance_by_depth(trace.steps, trace.trees)}
    assert accepted.to_dict() == {depth: count for depth, count in expected.items() if count}


def test_thresholds_of_typical_acceptance(trace):
    step = trace.steps[0]
    thresholds = [0.25] * len(step.token_ids)
    steps = [step.model_copy(update={"thresholds": thresholds}), *trace.steps[1:]]
    table = node_table(trace.model_copy(update={"steps": steps}))
    assert (table[table.step == 0].threshold == 0.25).all()
    assert table[table.step == 1].threshold.isna().all()


def test_a_row_for_every_step(trace):
    table = step_table(trace)
    assert tuple(table.columns) == STEP_COLUMNS
    assert len(table) == len(trace.steps)
    assert table.tokens.sum() == len(trace.new_token_ids)
    assert table.step_ms.sum() == pytest.approx(sum(step.timings.step for step in trace.steps))
    assert table.rows.tolist() == [len(step.token_ids) for step in trace.steps]
    assert table.bonus.iloc[0] == trace.steps[0].bonus
    assert table.bonus.iloc[-1] is pd.NA  # the run has ended


def test_tables_of_a_run_without_a_step(trace):
    empty = trace.model_copy(update={"steps": []})
    assert tuple(node_table(empty).columns) == NODE_COLUMNS
    assert tuple(step_table(empty).columns) == STEP_COLUMNS
    assert len(node_table(empty)) == len(step_table(empty)) == 0
