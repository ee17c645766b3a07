"""Calibrations: the choice they lead to, their files, and the quick one at the first start."""

import json

import numpy as np
import pytest
import torch

from explorer.analysis import calibration as cal
from explorer.analysis import calibration_file as files
from explorer.analysis.calibration_file import Key
from explorer.analysis.cost_curve import CostCurve
from explorer.analysis.joint_counts import RankedText, count_paths, rows_near
from explorer.analysis.rank_table import RankTable, save_rank_table
from explorer.analysis.tree_choice import Costs, choose, with_context_trees
from explorer.analysis.tree_search import greedy_order, product_success
from explorer.engine import HeadSet
from explorer.errors import ExplorerError
from explorer.models.heads import HeadsConfig, MedusaHeads
from explorer.tracing.events import RunStarted, StepRecorded
from explorer.tracing.schema import Position, TopTokens
from tests.analysis.tiny_model import VOCAB, tiny_model

KEY = Key(model="m", heads="h", backend="int4", device="cpu, 2 threads")
ACCURACY = [[0.5, 0.2], [0.4, 0.1]]
ORDER = greedy_order(product_success(ACCURACY), 50, 2, 2)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MEDUSA_EXPLORER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


CONTEXT_TREE = {
    "context_length": 128,
    "tree": [[0]],
    "expected_tokens_per_step": 1.5,
    "expected_speedup": 1.2,
}


def curve(slope, context=128, one_row_ms=20.0):
    rows = [1, 2, 4, 8, 16]
    ratios = [1 + slope * (n - 1) for n in rows]
    return CostCurve(
        context_length=context,
        rounds=3,
        one_row_ms=one_row_ms,
        rows=rows,
        milliseconds=[one_row_ms * r for r in ratios],
        ratios=ratios,
    )


def make(slope=0.05, **more):
    return choose(KEY, ORDER, Costs([curve(slope)], 1.0, 1.0), ACCURACY, basis="guess", **more)


def test_the_choice_by_hand():
    found = make(slope=0.15)
    # gain of the nodes: .5 .2 .2 .08 …; each costs .15 of 1.1: nodes (0,), (0, 0) and (1,) pay
    speedups = [
        (1 + sum(s.success for s in ORDER[:k])) / (1 + 0.15 * k + 0.1)
        for k in range(1, len(ORDER) + 1)
    ]
    assert found.expected_speedup == pytest.approx(max(speedups))
    assert len(found.tree) == 1 + int(np.argmax(speedups))
    assert found.pays
    assert f"{found.expected_speedup:.2f}×" in found.sentence


def test_two_context_lengths_are_averaged():
    both = choose(KEY, ORDER, Costs([curve(0.1), curve(0.3, 512)], 1, 1), ACCURACY, basis="guess")
    assert both.tree == make(slope=0.2).tree
    assert both.expected_speedup == pytest.approx(make(slope=0.2).expected_speedup)


def at_each_context(*curves):
    return with_context_trees(
        Costs(curves, 1, 1),
        lambda costs, context: choose(KEY, ORDER, costs, ACCURACY, basis="guess"),
    )


def test_each_context_length_has_its_own_tree():
    found = at_each_context(curve(0.05), curve(0.3, 512), curve(3.0, 2048))
    trees = found.fixed_trees
    assert list(trees) == [128, 512, 2048]
    assert list(trees[128].paths) == sorted(map(tuple, make(0.05).tree), key=lambda p: (len(p), p))
    assert len(trees[512].paths) < len(trees[128].paths)
    assert trees[2048].paths == ()  # nothing pays there
    assert found.by_context[2].expected_speedup == 1.0


def test_long_contexts_are_judged_by_long_texts():
    right = np.array([[0, 0]] * 2000, dtype=np.int16)
    wrong = np.array([[-1, -1]] * 1900 + [[0, -1]] * 100, dtype=np.int16)
    costs = Costs([curve(0.1, 128), curve(0.1, 4096)], 1, 1)
    both = [RankedText(right[:400], 50)] * 5 + [RankedText(wrong, 4000)]
    found = cal._by_texts(KEY, costs, both, "prompts")
    assert found.fixed_trees[128].paths == ((0,), (0, 0))
    assert found.fixed_trees[4096].paths == ()  # the heads fail there
    few = [RankedText(right[:400], 50)] * 5 + [RankedText(wrong[:900], 4000)]
    found = cal._by_texts(KEY, costs, few, "prompts")
    assert found.fixed_trees[4096].paths == ((0,), (0, 0))  # too few to tell: all texts speak


def test_a_text_may_grow_from_one_context_into_the_next():
    text = RankedText(np.arange(10, dtype=np.int16)[:, None], before=95)
    assert [rows.ravel().tolist() for rows in rows_near([text], 64, [64, 160])] == [[*range(7)]]
    assert [rows.ravel().tolist() for rows in rows_near([text], 160, [64, 160])] == [[7, 8, 9]]
    assert rows_near([text], 4096, [64, 160, 4096]) == []


def test_at_the_shortest_context_there_is_a_tree_even_if_it_loses():
    assert at_each_context(curve(3.0)).fixed_trees[128].paths == ((0,),)


def test_heads_that_draft_by_depth_cost_by_depth():
    costs = Costs([curve(0.1)], 4.0, 1.0, by_depth=4)
    assert costs.overhead(1) == pytest.approx(2 / 20)
    assert costs.overhead(4) == pytest.approx(5 / 20)


def test_a_tree_is_no_larger_than_the_curve_was_measured():
    accuracy = [[0.09] * 10] * 2
    order = greedy_order(product_success(accuracy), 100, 2, 10)
    found = choose(KEY, order, Costs([curve(0.0)], 0, 0), accuracy, basis="guess")
    assert len(found.tree) == 15


def test_where_nothing_pays_it_says_so_and_loses_least():
    found = make(slope=3.0)
    assert found.tree == [[0]]
    assert not found.pays
    assert found.expected_speedup == pytest.approx(1.5 / 4.1)
    assert "does not pay" in found.sentence
    assert "0.37×" in found.sentence


def test_heads_that_are_never_right_are_an_error():
    with pytest.raises(ExplorerError, match="right even once"):
        choose(KEY, [], Costs([curve(0)], 1, 1), [[0.0]], basis="prompts")


def test_joint_and_product_predictions_stand_side_by_side():
    right = np.random.default_rng(0).permutation([0, -1] * 500)
    rows = np.stack([right, right], axis=1).astype(np.int16)  # the heads fail together
    found = cal._by_texts(KEY, Costs([curve(0.01)], 0, 0), [RankedText(rows, 9)], "prompts")
    assert found.tree == [[0], [0, 0]]
    assert found.joint_tokens_per_step == pytest.approx(2.0)
    assert found.product_tokens_per_step == pytest.approx(1.75)
    assert found.expected_tokens_per_step == pytest.approx(2.0, abs=0.1)
    assert found.positions == 1000


def test_the_tree_is_made_for_the_positions_that_its_steps_start_from(monkeypatch):
    # (0, 0), (1, 0) and (1, 1) are right equally often, but steps start where (1, 0) is.
    cycle = [[-1, 0], [1, 0], [1, 1], [-1, 1], [-1, -1], [0, -1], [0, 0], [-1, 1]]
    texts = [np.array(cycle * 20, dtype=np.int16)]
    three = CostCurve(  # four rows are nearly free, a fifth was not measured
        context_length=9, rounds=1, one_row_ms=9, rows=[1, 4], milliseconds=[9, 9], ratios=[1, 1]
    )
    found = cal._by_texts(KEY, Costs([three], 0, 0), [RankedText(texts[0], 9)], "prompts")
    assert found.tree == [[0], [1], [1, 0]]
    assert found.expected_tokens_per_step == pytest.approx(1.6)
    paths = [tuple(path) for path in found.tree]
    assert found.joint_tokens_per_step == count_paths(texts, 16).tokens_per_step(paths)
    monkeypatch.setattr(cal, "SEARCH_ROUNDS", 0)
    once = cal._by_texts(KEY, Costs([three], 0, 0), [RankedText(texts[0], 9)], "prompts")
    assert once.expected_tokens_per_step == pytest.approx(4 / 3)


def test_file_round_trip(own_cache):
    found = at_each_context(curve(0.05))
    path = files.save_calibration(found)
    assert path.parent == own_cache / "calibration"
    assert files.load_calibration(KEY) == found
    assert json.loads(path.read_text())["tree"]
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("field", ["model", "heads", "backend", "device"])
def test_another_model_or_machine_has_another_file(field):
    files.save_calibration(at_each_context(curve(0.05)))
    other = KEY.model_copy(update={field: "other"})
    assert other.file_name != KEY.file_name
    assert files.load_calibration(other) is None


def test_a_file_under_a_wrong_name_is_not_believed():
    path = files.save_calibration(at_each_context(curve(0.05)))
    other = KEY.model_copy(update={"backend": "nf4"})
    path.rename(path.with_name(other.file_name))
    assert files.load_calibration(other) is None


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"format_version": 2}', "[" * 100_000])
def test_a_damaged_file_counts_as_none(damage):
    path = files.save_calibration(at_each_context(curve(0.05)))
    path.write_text(damage)
    assert files.load_calibration(KEY) is None


def test_a_file_with_a_broken_tree_counts_as_none():
    path = files.save_calibration(at_each_context(curve(0.05)))
    content = json.loads(path.read_text()) | {"tree": [[0, 0]]}
    path.write_text(json.dumps(content))
    assert files.load_calibration(KEY) is None


def test_a_folder_that_ships_with_the_heads_is_looked_at_too(tmp_path):
    files.save_calibration(at_each_context(curve(0.05)), tmp_path / "heads")
    assert files.load_calibration(KEY) is None
    assert files.load_calibration(KEY, [tmp_path / "heads"]) is not None


def test_an_unwritable_folder_is_one_clear_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ExplorerError, match="cannot be saved"):
        files.save_calibration(make(), tmp_path / "file" / "below")


@pytest.fixture(scope="module")
def model():
    return tiny_model()


@pytest.fixture(scope="module")
def heads(model):
    config = HeadsConfig(kind="own", num_heads=3, num_blocks=1, hidden_size=32, vocab_size=VOCAB)
    return MedusaHeads.create(config, model.lm_head_weight())


@pytest.fixture
def steady(monkeypatch):
    """Costs are given, not measured: nobody may test against the clock."""
    asked = []

    def fake(model, widths, context_length, rounds):
        asked.append((tuple(widths), context_length, rounds))
        return curve(0.05, context_length)

    monkeypatch.setattr(cal, "measure_cost_curve", fake)
    monkeypatch.setattr(cal, "time_heads", lambda model, heads: 1.0)
    return asked


def test_unknown_heads_get_a_guess_that_says_so(model, heads, steady, tmp_path):
    found = cal.auto_calibration(model, heads, tmp_path, cal.CurveMeter(model))
    assert found.basis == "guess"
    assert "guessed" in found.sentence
    assert found.candidate_tree.depth <= 3


def test_the_table_beside_the_heads_is_used(model, heads, steady, tmp_path):
    rows = [RankedText(np.array([[1, 0, -1]] * 40, dtype=np.int16), 9)]
    table = RankTable.of(
        rows, heads=files.heads_hash(heads), num_heads=3, width=16, source="a test"
    )
    save_rank_table(table, tmp_path)
    found = cal.auto_calibration(model, heads, tmp_path, cal.CurveMeter(model))
    assert found.basis == "rank table"
    assert found.tree == [[1], [1, 0]]
    assert found.positions == 40


def test_a_table_of_other_heads_is_not_used(model, heads, steady, tmp_path):
    rows = [RankedText(np.array([[1, 0, -1]] * 40, dtype=np.int16), 9)]
    save_rank_table(RankTable.of(rows, heads="other", num_heads=3, width=16, source=""), tmp_path)
    assert cal.auto_calibration(model, heads, tmp_path, cal.CurveMeter(model)).basis == "guess"


def test_the_second_start_measures_nothing(model, heads, steady):
    first = cal.auto_calibration(model, heads, None, cal.CurveMeter(model))
    assert cal.auto_calibration(model, heads, None, cal.CurveMeter(model)) == first
    assert len(steady) == len(cal.QUICK_CURVES)


def test_a_cache_that_cannot_be_written_is_no_failure(model, heads, steady, own_cache):
    own_cache.write_text("a file where the folder should be")
    assert cal.auto_calibration(model, heads, None, cal.CurveMeter(model)).tree


def test_the_hash_tells_heads_apart(model, heads):
    same = MedusaHeads.create(heads.config, model.lm_head_weight())
    assert files.heads_hash(same) == files.heads_hash(heads)
    with torch.no_grad():
        same.block_bias[0, 0, 0] += 1e-3
    assert files.heads_hash(same) != files.heads_hash(heads)
    assert files.heads_hash(same.bfloat16()) != files.heads_hash(heads)


def test_guesses_have_a_row_per_head():
    for count in (1, 5, 9):
        accuracy = cal.guessed_accuracy(count)
        assert len(accuracy) == count
        assert all(sum(ranks) < 1 for ranks in accuracy)


class FakeExplorer:
    """Every reply is 1 2 1 2 …; head 1 names the right token second, head 2 never does."""

    def __init__(self, model, heads, make_trace, step):
        self.model, self.heads = model, {"medusa": HeadSet(heads, "fake", {}, {})}
        self.make_trace, self.step = make_trace, step

    @staticmethod
    def _heads(token):
        return [TopTokens(ids=ids, probs=[0.5, 0.4]) for ids in ([50, token], [60, 61])]

    def decode(self, prompt, settings, cancel=None):
        first = Position(index=0, base_choice=1, heads=self._heads(2))
        trace = self.make_trace([9], [], num_heads=2, prompt_position=first)
        yield RunStarted(header=trace.header, pieces={})
        for index in range(settings.max_new_tokens):
            token = 1 + index % 2
            position = Position(index=1 + index, base_choice=3 - token, heads=self._heads(token))
            step = self.step(index, emitted=[token], heads=2.0, draft=0.25, verify=20, accept=0.25)
            top = [TopTokens(ids=[1], probs=[1.0])]
            update = {"positions": [position], "base_top": top, "choices": [3 - token]}
            trees = trace.trees if index == 0 else []
            yield StepRecorded(step=step.model_copy(update=update), trees=trees)


def test_calibrate_end_to_end(model, heads, steady, make_trace, step):
    explorer = FakeExplorer(model, heads, make_trace, step)
    said = []
    found = cal.calibrate(
        explorer, [{"prompt": "x"}] * 2, max_new_tokens=20, progress=lambda *what: said.append(what)
    )
    assert found.basis == "prompts"
    assert [ranks[1] for ranks in found.head_accuracy] == [1, 0]
    assert found.tree == [[1]]
    assert found.expected_tokens_per_step == pytest.approx(2, abs=0.1)
    assert (found.heads_ms, found.rest_ms) == (2.0, 0.5)
    # Its second guess is right and has 0.4: where a row costs less, auto takes it along.
    assert found.auto_tokens_per_step == pytest.approx(2, abs=0.1)
    assert found.auto_nodes >= 2
    assert f"of auto {found.auto_speedup:.2f}×" in found.sentence
    assert [c.context_length for c in found.cost_curve] == [128, 384]  # 512 less the widest pass
    assert files.load_calibration(found.key) == found
    assert said[-1][1] < 1


@pytest.mark.parametrize("prompts", [[], [{"prompt": "x"}]])
def test_too_little_text_is_one_clear_sentence(model, heads, steady, make_trace, step, prompts):
    explorer = FakeExplorer(model, heads, make_trace, step)
    with pytest.raises(ExplorerError, match="prompt"):
        cal.calibrate(explorer, prompts, max_new_tokens=1)


def test_no_heads_no_calibration(model):
    class Bare:
        pass

    bare = Bare()
    bare.model, bare.heads = model, {}
    with pytest.raises(ExplorerError, match="needs Medusa heads"):
        cal.calibrate(bare, [{"prompt": "x"}])


@pytest.mark.parametrize(
    "damage",
    [
        {"by_context": []},
        {"by_context": [{**CONTEXT_TREE, "context_length": 77}]},
        {"by_context": [{**CONTEXT_TREE, "tree": [[0, 0]]}]},
        {"by_context": [{**CONTEXT_TREE, "expected_speedup": float("nan")}]},
        {"head_accuracy": [], "by_depth": True},
        {"heads_ms": float("inf")},
        {"cost_curve": [curve(0.1).model_dump() | {"ratios": [0.0] * 5}]},
        {"cost_curve": [curve(0.1).model_dump() | {"ratios": [1, 1, 1, 1, float("nan")]}]},
    ],
)
def test_what_cannot_be_decoded_with_is_measured_again(damage):
    found = at_each_context(curve(0.1))
    path = files.save_calibration(found)
    assert files.load_calibration(KEY) == found
    path.write_text(json.dumps(found.model_dump() | damage))
    assert files.load_calibration(KEY) is None


def test_auto_trees_price_their_nodes_by_context():
    found = at_each_context(curve(0.05), curve(0.3, 512), curve(3.0, 2048))
    trees = found.auto_trees
    assert list(trees) == [128, 512, 2048]
    for tree, best, slope in zip(trees.values(), found.by_context, (0.05, 0.3, 3.0), strict=True):
        assert tree.nodes == 15  # as many as C(n) was measured for
        worth = best.expected_speedup
        assert tree.prices.rows == pytest.approx([worth * slope * k for k in range(16)])
        assert tree.prices.depth == 0
    assert found.by_context[2].expected_speedup == 1  # where nothing pays, plain decoding's rate


def test_a_hydra_head_has_its_price():
    costs = Costs([curve(0.1)], heads_ms=4.0, rest_ms=1.0, by_depth=2)
    found = with_context_trees(
        costs, lambda costs, context: choose(KEY, ORDER, costs, ACCURACY, basis="guess")
    )
    worth = found.by_context[0].expected_speedup
    heads = len(ACCURACY)
    assert found.auto_trees[128].prices.depth == pytest.approx(worth * 4.0 / heads / 20.0)
