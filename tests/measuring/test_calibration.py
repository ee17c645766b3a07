"""The quick calibration at the first start, and the one on prompts."""

import numpy as np
import pytest
import torch

from explorer.analysis.joint_counts import RankedText
from explorer.analysis.rank_table import RankTable, save_rank_table
from explorer.heads.heads import MedusaHeads
from explorer.heads.heads_config import HeadsConfig
from explorer.measuring import calibration as cal
from explorer.measuring import calibration_file as files
from explorer.measuring.head_set import HeadSet
from explorer.records.errors import ExplorerError
from explorer.records.events import RunStarted, StepRecorded
from explorer.records.step import Position, TopTokens
from tests.choices import curve
from tests.tiny_lab import VOCAB, tiny_model

pytestmark = pytest.mark.usefixtures("own_cache")


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


def test_the_hash_distinguishes_heads(model, heads):
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


class FakeLab:
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
    lab = FakeLab(model, heads, make_trace, step)
    said = []
    found = cal.calibrate(
        lab, [{"prompt": "x"}] * 2, max_new_tokens=20, progress=lambda *what: said.append(what)
    )
    assert found.basis == "prompts"
    assert [ranks[1] for ranks in found.head_accuracy] == [1, 0]
    assert found.tree == [[1]]
    assert found.expected_tokens_per_step == pytest.approx(2, abs=0.1)
    assert (found.heads_ms, found.rest_ms) == (2.0, 0.5)
    # Its second guess is right and has 0.4: where a row costs less, auto takes it along.
    assert found.auto_tokens_per_step == pytest.approx(2, abs=0.1)
    assert found.auto_nodes >= 2
    assert f"; auto {found.auto_speedup:.2f}×" in found.sentence
    assert [c.context_length for c in found.cost_curve] == [128, 384]  # 512 less the widest pass
    assert files.load_calibration(found.key) == found
    assert said[-1][1] < 1


@pytest.mark.parametrize("prompts", [[], [{"prompt": "x"}]])
def test_too_little_text_is_one_clear_sentence(model, heads, steady, make_trace, step, prompts):
    lab = FakeLab(model, heads, make_trace, step)
    with pytest.raises(ExplorerError, match="prompt"):
        cal.calibrate(lab, prompts, max_new_tokens=1)


def test_no_heads_no_calibration(model):
    class Bare:
        pass
