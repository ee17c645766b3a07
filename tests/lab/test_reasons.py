"""The codes of recorded steps fit what the rule did, for every rule and way of drafting."""

import pytest
import torch

from explorer.decoding.acceptance import Typical
from explorer.decoding.sampling import Draws
from explorer.records.reasons import with_reasons
from explorer.records.sentences import NODES, STEPS
from explorer.records.settings import decode_settings
from tests.tiny_lab import tiny_lab

SAMPLED = {"temperature": 1.0, "max_new_tokens": 24, "raw_prompt": True}
RUNS = {
    "greedy": {"temperature": 0.0},
    "sample": {},
    "drawn": {"candidates": "drawn"},
    "typical": {"acceptance": "typical", "top_p": 0.5},
    "draft-model": {"method": "draft-model", "draft_layers": 1},
    "lookahead": {"method": "lookahead", "temperature": 0.0},
}


@pytest.fixture(scope="module")
def traces():
    lab = tiny_lab()
    return {
        name: lab.run("abab", **(SAMPLED | {"tree": "cartesian:3,2"} | run))
        for name, run in RUNS.items()
    }


@pytest.mark.parametrize("name", RUNS)
def test_every_row_and_stage_has_a_code_with_a_sentence(traces, name):
    for step in traces[name].steps:
        assert all(code in NODES for code in step.reasons)
        assert all(code in STEPS for code in step.stages)
        named = [NODES[code][0] for code in step.reasons]
        assert [
            at for at, word in enumerate(named) if word in ("root", "accepted", "past the end")
        ] == step.accepted


@pytest.mark.parametrize("name", ["drawn", "draft-model"])
def test_rejection_sampling_is_recorded_as_it_went(traces, name):
    tried = [(step, one) for step in traces[name].steps for one in step.trials or ()]
    assert tried
    for step, one in tried:
        assert one.chance == pytest.approx(min(1.0, one.p / one.q), abs=1e-3)
        assert (one.coin < one.chance) == (one.row in step.accepted)
        assert step.verdicts[one.row] in ("accepted", "rejected")
    for step in traces[name].steps:
        if step.trials is None:
            continue
        untried = set(range(1, len(step.token_ids))) - {one.row for one in step.trials}
        assert all(step.verdicts[row] == "pruned" for row in untried)
        rejected_last = bool(step.trials) and step.trials[-1].row not in step.accepted
        assert (step.residual is not None) == rejected_last
        if step.residual and len(step.residual.ids) < 5:  # all that was left of p
            assert step.bonus in step.residual.ids


def test_a_typical_node_is_recorded_with_the_probability_that_was_tested(traces):
    for step in traces["typical"].steps:
        for row, code in enumerate(step.reasons):
            if code in ("typical", "typical-lost"):
                assert step.base_probs[row] >= step.thresholds[row] - 1e-6
            if code in ("typical-end", "typical-sibling"):
                assert step.base_probs[row] <= step.thresholds[row] + 1e-6


def test_a_trace_that_does_not_say_how_is_not_narrated_as_a_draw(traces):
    trace = traces["draft-model"]
    step = next(step for step in trace.steps if step.trials)
    old = step.model_copy(update={"trials": None, "residual": None, "reasons": None})
    tree = trace.trees[step.tree]
    assert with_reasons(old, tree, trace.header.settings).reasons == step.verdicts


def test_lookahead_rows_count_in_the_pass(traces):
    steps = [step for step in traces["lookahead"].steps if step.extra_rows]
    assert steps
    assert all("window" in step.stages[3] for step in steps)


def test_guesses_that_held_behind_the_end_of_the_text_never_became_text(traces):
    trace = traces["greedy"]
    whole = next(step for step in trace.steps if len(step.accepted) == 3)
    cut = whole.model_copy(update={"emitted": whole.emitted[:2], "bonus": None})
    found = with_reasons(cut, trace.trees[cut.tree], trace.header.settings)
    first, last = (found.reasons[row] for row in cut.accepted[1:])
    assert (first, last) == ("greedy", "past-end")
    assert found.stages[0] == "step-cut"


ROOTS = {"greedy": {0}, "typical": {0, 1}, "draw": {0, 1, 2}}


@pytest.mark.parametrize("rule", ROOTS)
def test_the_root_of_typical_acceptance(rule):
    """p = (.7, .2, .1), threshold .1346, as in test_typical_acceptance_by_hand."""
    run = decode_settings(
        temperature=1.0, acceptance="typical", epsilon=0.15, delta=0.3, root_rule=rule
    )
    logits = torch.log(torch.tensor([0.7, 0.2, 0.1]))
    acceptance = Typical(run, Draws(0, 200))
    assert {acceptance.first(logits, position) for position in range(200)} == ROOTS[rule]


def test_delta_is_the_root_of_epsilon_unless_given():
    assert decode_settings(epsilon=0.04).delta == pytest.approx(0.2)
    assert decode_settings(epsilon=0.04, delta=0).delta == pytest.approx(0.2)
    assert decode_settings(epsilon=0.04, delta=0.3).delta == 0.3
    assert decode_settings().delta == pytest.approx(0.3)
