"""What a step costs outside the forward passes, and what recording adds."""

import pytest

from explorer.analysis.shares import shares
from explorer.analysis.tree_names import parse_tree
from explorer.lab import lab as labs
from explorer.measuring.overhead import measure_overhead, timed, wide_tree
from explorer.recording.snapshot import snapshot
from explorer.records.events import collect
from explorer.records.settings import decode_settings
from tests.tiny_lab import tiny_lab


def test_shares_by_hand():
    found = shares([{"heads": 1, "draft": 1, "verify": 6}, {"accept": 1, "commit": 1, "record": 9}])
    assert found.heads == pytest.approx(0.1)
    assert found.verify == pytest.approx(0.6)
    assert found.outside == pytest.approx(0.3)
    assert found.heads + found.verify + found.outside == pytest.approx(1)
    assert shares([]) is None
    assert shares([{}]) is None


def test_the_first_item_holds_the_prefill_and_is_not_timed():
    found = list(timed(iter("abc")))
    assert [item for item, _ in found] == ["a", "b", "c"]
    assert found[0][1] is None
    assert all(seconds >= 0 for _, seconds in found[1:])


@pytest.mark.parametrize("heads", [1, 2, 3, 5])
def test_the_wide_tree_has_64_nodes_for_any_number_of_heads(heads):
    tree = parse_tree(wide_tree(heads))
    assert len(tree.paths) == 64
    assert tree.depth <= heads


def test_overhead_runs_both_ways_over_the_same_steps(monkeypatch):
    settings = decode_settings(max_new_tokens=10, tree="chain:3")
    lab = tiny_lab()
    passes = sum(step.timings.verify > 0 for step in collect(lab.decode("abc", settings)).steps)
    taken = []
    monkeypatch.setattr(
        labs, "snapshot", lambda step, chosen: taken.append(step) or snapshot(step, chosen)
    )
    found = measure_overhead(lab, ["abc"], settings)
    recorded = [step.draft.tree.n for step in taken if step.verdict is not None]
    assert (found.nodes, found.n) == (3, 4)
    assert found.steps == len(recorded) == passes
    assert max(recorded) == 4
    assert found.step_ms > 0


def test_making_the_records_is_timed_apart():
    found = measure_overhead(tiny_lab(), ["abc"], decode_settings(max_new_tokens=10))
    assert found.writing_ms > 0
