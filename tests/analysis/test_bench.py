"""The benchmark: sums and means by hand, and the whole of it on a tiny model."""

import threading

import numpy as np
import pytest

from explorer.analysis import bench as bench_module
from explorer.analysis import reference as reference_module
from explorer.analysis.bench import bench
from explorer.analysis.bench_races import _identical
from explorer.analysis.bench_report import verdict_sentence
from explorer.analysis.overhead import Overhead, measure_overhead, shares, timed, wide_tree
from explorer.analysis.races import (
    MethodFigures,
    PromptFigures,
    categories,
    finished_race,
    geometric_mean,
    geometric_spread,
    method_figures,
)
from explorer.analysis.reference import Reference, generate, measure_reference, plain
from explorer.analysis.speedup import Samples
from explorer.config import decode_settings
from explorer.decoding.tree import parse_tree
from explorer.errors import ExplorerError
from tests.analysis.tiny_model import tiny_explorer

PROMPTS = [
    {"id": "a", "category": "code", "prompt": "def f"},
    {"id": "b", "category": "chat", "prompt": "hello there"},
    {"id": "c", "category": "chat", "prompt": "tell me"},
]


def test_shares_by_hand():
    found = shares([{"heads": 1, "draft": 1, "verify": 6}, {"accept": 1, "commit": 1, "record": 9}])
    assert found.heads == pytest.approx(0.1)
    assert found.verify == pytest.approx(0.6)
    assert found.outside == pytest.approx(0.3)
    assert found.heads + found.verify + found.outside == pytest.approx(1)
    assert shares([]) is None
    assert shares([{}]) is None


def test_geometric_mean():
    assert geometric_mean([2.0, 0.5]) == pytest.approx(1.0)
    assert geometric_mean([9.0, 1.0]) == pytest.approx(3.0)
    assert geometric_mean([4.0, None]) == pytest.approx(4.0)
    assert geometric_mean([]) is None


def test_geometric_spread():
    # logarithms ±a: standard error a·√2/√2 = a, Student's t of one degree of freedom 12.706
    assert geometric_spread([1.1, 1 / 1.1]) == pytest.approx(np.log(1.1) * 12.7062, rel=1e-4)
    assert geometric_spread([1.3] * 5) == pytest.approx(0)
    assert geometric_spread([1.3, None]) is None


def race(category, speedup, tokens_per_step=1.5):
    return PromptFigures(
        number=0,
        id="x",
        category=category,
        method="medusa",
        tokens=9,
        identical=True,
        tokens_per_step=tokens_per_step,
        tokens_per_second=10,
        plain_tokens_per_second=10,
        speedup=speedup,
        spread=0.1,
    )


def test_categories_keep_their_own_means():
    found = categories([race("a", 2.0, 2.0), race("b", 0.9), race("a", 0.5, 1.0)])
    assert list(found) == ["a", "b"]
    assert found["a"].prompts == 2
    assert found["a"].speedup == pytest.approx(1.0)
    assert found["a"].tokens_per_step == pytest.approx(1.5)
    assert found["b"].speedup == pytest.approx(0.9)


def test_methods_pool_their_runs_and_average_their_speedups():
    runs = [
        Samples(np.array([2.0, 1.0]), np.array([30.0, 30.0])),
        Samples(np.array([3.0]), np.array([40.0])),
    ]
    found = method_figures(runs, [2.0, 0.5], None)
    assert found.tokens == 6
    assert found.tokens_per_second == pytest.approx(60)
    assert found.tokens_per_step == pytest.approx(2)
    assert found.step_ms == pytest.approx(100 / 3)
    assert found.speedup == pytest.approx(1)


def _method(step_ms, speedup):
    return MethodFigures(
        tokens=20,
        steps=10,
        seconds=1,
        tokens_per_second=20,
        tokens_per_step=2,
        step_ms=step_ms,
        speedup=speedup,
        shares=None,
    )


@pytest.mark.parametrize(
    ("speedup", "words"),
    [
        (1.25, "Speculation pays on this machine: medusa runs at 1.25×"),
        (0.9, "does not pay"),
        (1.03, "neither pays nor costs much on this machine: medusa runs at 1.03× plain, ± 0.05"),
    ],
)
def test_the_sentence_tells_a_slowdown_from_a_speedup(speedup, words):
    sentence = verdict_sentence(
        "medusa", {"medusa": _method(30, speedup), "plain": _method(20, None)}, 0.05
    )
    assert words in sentence
    assert "pays from 1.50" in sentence


def test_nothing_measured_nothing_claimed():
    assert "cannot say" in verdict_sentence(None, {"plain": _method(20, None)}, None)
    assert "cannot say" in verdict_sentence("medusa", {}, None)


def test_a_race_is_identical_only_if_all_tokens_are(make_trace, step, plain_token):
    trace = make_trace([1], [step(emitted=(1, 1), verify=30.0)], plain=[plain_token(20.0)] * 2)
    found = finished_race({"prompt": "x"}, 7, trace)
    assert found.figures.identical
    assert found.figures.id == "7"
    assert found.figures.speedup == pytest.approx((2 / 30) / (1 / 20))
    assert found.laps[0]["verify"] == 30
    shorter = make_trace([1], trace.steps, plain=[plain_token(20.0)])
    cut = finished_race({}, 0, shorter).figures
    assert not cut.identical
    assert (cut.difference.position, cut.difference.plain_token) == (1, None)
    assert cut.difference.method_token == trace.new_token_ids[1]
    assert found.figures.difference is None


def test_a_prompt_is_identical_only_if_every_method_says_so(make_trace, step, plain_token):
    trace = make_trace([1], [step(verify=30.0)], plain=[plain_token(20.0)])
    same = finished_race({}, 0, trace)
    other = finished_race({}, 0, make_trace([1], trace.steps, plain=[plain_token(20.0)] * 2))
    races = {"medusa": [same, same, other], "lookahead": [same, other, other]}
    assert _identical(races) == 1


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


@pytest.fixture(scope="module")
def explorer():
    return tiny_explorer()


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(bench_module, "WIDTHS", (1, 4))


def test_the_whole_benchmark(explorer, quick):
    said = []
    report = bench(
        explorer, PROMPTS, max_new_tokens=12, reference=True, progress=lambda *w: said.append(w)
    )
    assert report.prompts == report.identical_prompts == 3
    assert set(report.methods) == {"plain", "medusa"}
    assert report.methods["plain"].tokens == report.methods["medusa"].tokens == 36
    assert report.methods["plain"].tokens_per_step == 1
    assert report.methods["medusa"].steps < 36  # tiny models repeat themselves; some drafts hold
    assert report.speedup == report.methods["medusa"].speedup > 0
    assert report.spread > 0
    assert {name: c.prompts for name, c in report.per_category.items()} == {"code": 1, "chat": 2}
    assert [o.nodes for o in report.overhead] == [2, 64]
    for overhead in report.overhead:
        assert overhead.shares.verify > 0
        assert overhead.recording is not None
    assert report.methods["plain"].shares.heads == 0
    assert report.cost_curve.rows == [1, 4]
    assert report.plain_over_generate > 0
    assert report.reference.identical_prompts == 3
    assert "on this machine" in report.sentence
    shares_of_progress = [share for _, share in said]
    assert shares_of_progress == sorted(shares_of_progress)
    assert report.model_dump_json()


def test_plain_alone(explorer, quick):
    report = bench(explorer, PROMPTS[:1], methods=["plain"], max_new_tokens=6)
    assert list(report.methods) == ["plain"]
    assert report.speedup is None
    assert report.reference is None
    assert report.prompts == report.identical_prompts == 1


def test_a_model_that_differs_is_counted(explorer, quick, monkeypatch):
    real = explorer.race

    def liar(prompt, settings, cancel=None):
        for event in real(prompt, settings, cancel):
            if hasattr(event, "token") and prompt == "tell me":
                token = event.token.model_copy(update={"token_id": 96 - event.token.token_id})
                event = event.model_copy(update={"token": token})
            yield event

    monkeypatch.setattr(explorer, "race", liar)
    assert bench(explorer, PROMPTS, max_new_tokens=6).identical_prompts == 2


def test_bad_input_is_one_clear_sentence(explorer):
    with pytest.raises(ExplorerError, match="at least one prompt"):
        bench(explorer, [])
    with pytest.raises(ExplorerError, match="no method"):
        bench(explorer, PROMPTS, methods=["telepathy"])


def test_a_cancelled_benchmark_reports_what_it_has(explorer, quick):
    cancel = threading.Event()
    cancel.set()
    report = bench(explorer, PROMPTS, max_new_tokens=6, cancel=cancel)
    assert report.prompts == 0
    assert report.speedup is None
    assert "cannot say" in report.sentence
    assert report.cost_curve is None


def test_overhead_runs_both_ways_over_the_same_steps(explorer):
    settings = decode_settings(max_new_tokens=10, tree="chain:3")
    found = measure_overhead(explorer, ["abc"], settings)
    assert isinstance(found, Overhead)
    assert (found.nodes, found.n) == (3, 4)
    assert found.steps >= 3
    assert found.step_ms > 0


def test_generate_and_plain_write_the_same_and_stop_alike():
    explorer = tiny_explorer()
    ids = explorer.encode("hello", decode_settings())
    text, seconds = plain(explorer, ids, 20)
    assert len(text) == 20
    assert seconds > 0
    theirs, seconds = generate(explorer.model, ids, 20)
    assert theirs == text
    assert seconds > 0
    stopping = tiny_explorer(eos_ids=[text[4]])
    end = text.index(text[4]) + 1
    assert plain(stopping, ids, 20)[0] == text[:end]
    assert generate(stopping.model, ids, 20)[0] == text[:end]


def test_the_reference_counts_passes_and_changes_who_goes_first(explorer, monkeypatch):
    order = []

    def fake(name, tokens, seconds):
        def run(_, ids, max_new_tokens):
            order.append(name)
            return list(range(tokens)), seconds

        return run

    monkeypatch.setattr(reference_module, "plain", fake("plain", 11, 0.5))
    monkeypatch.setattr(reference_module, "generate", fake("generate", 6, 0.5))
    found = measure_reference(explorer, ["a", "b"], 16)
    # the first token comes from the prefill: 2 · 10 and 2 · 5 passes in a second each
    assert found.plain_tokens_per_second == pytest.approx(20)
    assert found.generate_tokens_per_second == pytest.approx(10)
    assert found.plain_over_generate == pytest.approx(2)
    assert found.identical_prompts == 0
    assert order[2:] == ["generate", "plain", "plain", "generate"]


def test_generate_leaves_our_attention_in_place():
    explorer = tiny_explorer()
    assert explorer.model.fixed_order
    generate(explorer.model, [1, 2], 2)
    assert explorer.model.fixed_order


def test_a_reference_over_no_prompts():
    found = measure_reference(tiny_explorer(), [])
    assert isinstance(found, Reference)
    assert found.plain_over_generate is None
