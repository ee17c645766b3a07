"""Replay: what a tree would have done on recorded runs is what it does when it decodes them."""

import numpy as np
import pytest

from explorer.analysis import replay as module
from explorer.analysis.joint_counts import RankedText
from explorer.analysis.path_index import PathIndex, walk
from explorer.analysis.replay import replay, replayed_run
from explorer.analysis.tree_names import cartesian, parse_tree
from explorer.records.errors import ExplorerError
from explorer.records.events import collect
from explorer.records.settings import decode_settings
from tests.tiny_lab import tiny_lab

PROMPTS = ("some prompt", "and another", "third")
TREES = ("chain:2", "cartesian:4,3", "dynamic:6", "[[0], [1], [1, 0]]", "root")


def record(prompt, lab=None, **settings):
    lab = lab or tiny_lab(tree=cartesian([2, 2]))
    settings = {"method": "medusa", "max_new_tokens": 40} | settings
    return collect(lab.decode(prompt, decode_settings(**settings)))


@pytest.fixture(scope="module")
def traces():
    return {prompt: record(prompt) for prompt in PROMPTS}


@pytest.mark.parametrize("tree", TREES)
def test_a_replay_takes_the_steps_that_decoding_takes(traces, tree):
    for name, trace in traces.items():
        replayed = replayed_run(trace, tree)
        decoded = [len(step.emitted) for step in record(name, tree=tree).steps]
        assert len(replayed) > 8
        # At the end of a run trees are cut to what is still wanted.
        assert replayed[:-1] == decoded[: len(replayed) - 1]


def test_sampled_runs_are_replayed_too():
    lab = tiny_lab(tree=cartesian([2, 2]))
    settings = {"temperature": 0.5, "seed": 3}
    replayed = replayed_run(record("some prompt", lab, **settings), "cartesian:4,2")
    decoded = record("some prompt", lab, tree="cartesian:4,2", **settings)
    assert replayed[:-1] == [len(step.emitted) for step in decoded.steps][: len(replayed) - 1]


def test_the_report_adds_up(traces):
    report = replay(traces, ["chain:2", "dynamic:6", "best:6"])
    assert (report.traces, list(report.recorded)) == (3, list(PROMPTS))
    assert [found.nodes for found in report.trees] == [2, 6, 6]
    for found in report.trees:
        assert found.tokens_per_step == pytest.approx(found.tokens / found.steps)
        assert list(found.by_trace) == list(PROMPTS)
    assert type(report).model_validate_json(report.model_dump_json()) == report


def test_the_best_tree_is_not_chosen_on_the_trace_it_is_counted_on(monkeypatch):
    """One text's heads are right at rank 0, the others' at rank 1: each is served the other."""
    rows = [np.full((20, 1), rank, dtype=np.int16) for rank in (0, 1, 1)]
    texts = [module.Recorded(str(i), RankedText(r, 0)) for i, r in enumerate(rows)]
    nodes, steps = module.steps_by_text("best:1", texts, PathIndex([]), 1, False)
    assert nodes == 1
    assert steps[0] == [1] * 20


def test_what_cannot_be_replayed_is_refused(traces):
    name, trace = next(iter(traces.items()))
    typical = record("some prompt", temperature=1.0, acceptance="typical")
    with pytest.raises(ExplorerError, match="typical acceptance"):
        replay({"t": typical}, ["chain:2"])
    with pytest.raises(ExplorerError, match="two"):
        replay({name: trace}, ["best:4"])
    with pytest.raises(ExplorerError, match="deep"):
        replay({name: trace}, ["chain:4"])
    for tree in ("best:0", "best:x", "best:99999999999", "best:00000000199999", "auto", "tea"):
        with pytest.raises(ExplorerError, match="tree"):
            replay(traces, [tree])
    short = record("some prompt", max_new_tokens=2)
    with pytest.raises(ExplorerError, match="no predictions"):
        replay({"s": short}, ["chain:2"])
    others = record("some prompt", tiny_lab(num_heads=2))
    with pytest.raises(ExplorerError, match="different numbers of heads"):
        replay({"a": trace, "b": others}, ["chain:2"])
    with pytest.raises(ExplorerError, match="at least one"):
        replay({}, ["chain:2"])


def test_hydra_heads_replay_fixed_trees_alone():
    lab = tiny_lab(architecture="hydra", tree=cartesian([2, 2]))
    trace = record("some prompt", lab, method="hydra")
    assert replay({"h": trace}, ["cartesian:2,2"]).trees[0].steps > 0
    with pytest.raises(ExplorerError, match="bench"):
        replay({"h": trace}, ["dynamic:4"])
    assert parse_tree("dynamic:4").nodes == 4


def test_an_index_of_paths_finds_what_looking_at_every_row_finds():
    rng = np.random.default_rng(3)
    texts = [rng.integers(-1, 3, size=(length, 3)).astype(np.int16) for length in (0, 1, 60, 200)]
    index = PathIndex(texts)
    for tree in [[], [(0,)], [(0,), (2,), (0, 1), (2, 0), (2, 0, 2)], cartesian([3, 2, 2]).paths]:
        found = index.steps(tree)
        assert found == [module.steps_through(text, lambda _, t=set(tree): t) for text in texts]
    assert walk(np.array([2, 0, 5, 0, 1])) == [3, 1, 2]
