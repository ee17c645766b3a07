"""Every method through the engine: the same text as plain, and a trace that records all of it."""

from __future__ import annotations

import pytest

from explorer.measuring.audit import audit
from explorer.records.errors import ExplorerError
from explorer.records.events import TraceBuilder
from explorer.records.files import read_trace, write_trace
from explorer.records.methods import METHODS
from explorer.records.settings import decode_settings
from tests.tiny_lab import tiny_lab

PROMPT = "hello there, hello there"
RUN = {"max_new_tokens": 24, "tree": "cartesian:3,2", "draft_layers": 1, "draft_tokens": 2}
AT_HAND = [name for name, method in METHODS.items() if method.heads in ("", "medusa")]


@pytest.fixture(scope="module")
def lab():
    return tiny_lab()


def traces_of(lab, methods, **values):
    runs = {name: TraceBuilder() for name in methods}
    for name, event in lab.compare(PROMPT, decode_settings(**RUN | values), methods):
        runs[name].add(event)
    return {name: run.trace() for name, run in runs.items()}


@pytest.fixture(scope="module")
def traces(lab):
    return traces_of(lab, AT_HAND)


def test_all_greedy_methods_write_plains_text(traces):
    texts = {name: trace.new_token_ids for name, trace in traces.items()}
    assert len(texts["plain"]) == 24
    assert all(text == texts["plain"] for text in texts.values())


def test_sampled_methods_write_plains_text_where_no_candidate_is_drawn(lab):
    traces = traces_of(lab, AT_HAND, temperature=0.9, top_p=0.9, seed=5)
    texts = {name: trace.new_token_ids for name, trace in traces.items()}
    assert texts["draft-model"]
    assert all(text == texts["plain"] for name, text in texts.items() if name != "draft-model")


@pytest.mark.parametrize("method", AT_HAND)
def test_a_trace_records_every_step_and_is_read_back(traces, tmp_path, method):
    trace = traces[method]
    write_trace(trace, tmp_path / "run.json.gz")
    assert read_trace(tmp_path / "run.json.gz") == trace
    assert trace.header.settings.method == method
    assert trace.header.settings.draft_tokens == 2
    context = len(trace.header.prompt_ids)
    for step in trace.steps:
        assert step.context_length == context
        assert step.emitted == [step.token_ids[row] for row in step.accepted]
        shown = [*step.token_ids, *(t for t in step.choices if t >= 0)]
        if step.lookahead:
            shown += [t for line in step.lookahead.window + step.lookahead.guesses for t in line]
        assert all(token in trace.pieces for token in shown)
        context += len(step.emitted)


def test_a_draft_models_probabilities_are_recorded(traces):
    steps = [step for step in traces["draft-model"].steps if step.base_top]
    assert any(len(step.token_ids) == 3 for step in steps)
    for step in steps:
        assert step.draft_probs[0] == 1.0
        assert all(0 < prob < 1 for prob in step.draft_probs[1:])
        assert step.timings.heads > 0 or len(step.token_ids) == 1


def test_lookahead_shows_its_window_and_its_pool(traces):
    states = [step.lookahead for step in traces["lookahead"].steps if step.base_top]
    assert any(state.window for state in states)
    assert states[-1].pool_size > 0
    assert all(step.lookahead is None for step in traces["medusa"].steps)


def test_drawn_candidates_are_judged_and_recorded(lab):
    runs = {}
    for seed in (1, 1, 2):
        traces = traces_of(lab, ["medusa"], temperature=1.0, candidates="drawn", seed=seed)
        runs.setdefault(seed, []).append(traces["medusa"])
    assert runs[1][0].new_token_ids == runs[1][1].new_token_ids
    assert runs[1][0].new_token_ids != runs[2][0].new_token_ids
    for step in runs[1][0].steps:
        siblings = step.token_ids[1:4]  # of cartesian:3,2
        assert len(set(siblings)) == len(siblings)  # drawn without replacement


@pytest.mark.parametrize("method", [name for name in AT_HAND if name != "plain"])
def test_the_audit_covers_every_method(lab, method):
    report = audit(lab, [{"prompt": PROMPT}], 12, method, draft_layers=1)
    assert (report.method, report.identical, report.tokens) == (method, 1, 12)


def test_bad_parameters_are_one_sentence(lab):
    with pytest.raises(ExplorerError, match="it has 2"):
        traces_of(lab, ["draft-model"], draft_layers=5)
    with pytest.raises(ExplorerError, match="fixed tree"):
        traces_of(lab, ["medusa"], candidates="drawn", temperature=1.0, tree="dynamic:4")
