"""The GPU check's own code, on a small shape without a GPU."""

import json

import pytest
import torch

from explorer.analysis.cost_file import read_costs
from explorer.analysis.gpu_report import GpuReport
from explorer.decoding.acceptance import follow
from explorer.decoding.drafter import Context
from explorer.decoding.tree import Tree
from explorer.kernels.graphs import Recordings
from explorer.measuring.gpu_check.checks import Check, our_passes
from explorer.measuring.gpu_check.made_up import TINY, made_up_heads, made_up_model
from explorer.measuring.gpu_check.oracle import OracleDrafter, right_for
from explorer.measuring.gpu_check.report import bars
from explorer.measuring.selfcheck import check_static_passes
from explorer.models.static_pass import StaticPass
from tests.models.tape import TapeRecorder
from tools import gpu_check

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gpu")
    assert gpu_check.main(["--tiny", "--device", "cpu", "--out", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def report(out):
    return GpuReport.model_validate_json((out / "report.json").read_text())


def test_all_that_the_check_promises_is_in_the_report(report):
    assert all(check.ok for check in report.checks)
    assert {"tree pass = plain pass, in fixed shapes", "fixed shapes = eager"} <= {
        check.name for check in report.checks
    }
    assert sum("verdicts" in check.name for check in report.checks) == 3
    assert report.fixed_shapes.rows == report.eager.rows == [1, 2, 4, 8, 16, 32, 64, 128]
    assert [cost.kind for cost in report.heads] == ["own", "truncated", "nf4"]
    own, truncated, nf4 = report.heads
    assert own.bytes > truncated.bytes
    assert own.bytes > nf4.bytes
    assert report.one_row.floor_ms > 0
    assert report.recording is not None
    assert report.peak_memory.bytes > 0


def test_a_known_text_gives_the_yields_that_were_asked_for(report):
    measured = [point.measured for point in report.yields]  # of a few steps each
    assert measured == sorted(measured)
    assert 1 < measured[0] < 2.5 < measured[-1] <= 6
    for point in report.yields:
        ratio = point.measured * point.plain_ms / point.step_ms
        assert point.speedup == pytest.approx(ratio)


def test_without_a_gpu_no_bar_is_judged(report):
    assert not report.on_gpu
    assert [bar.met for bar in report.bars] == [None] * 5
    found = {
        "one_row": report.one_row,
        "fixed_shapes": report.fixed_shapes,
        "yields": report.yields,
        "recording": 0.01,
    }
    judged = {bar.name: bar.met for bar in bars(found, on_gpu=True)}
    assert judged["recording, slower"] is True
    assert judged["one-row pass over its floor"] is False  # a tiny model is all overhead


def test_the_page_and_the_costs_open(out, report):
    page = (out / "index.html").read_text()
    assert "There is no GPU here: nothing is judged." in page
    assert "not judged" in page
    assert "Plotly" in page
    assert read_costs(out / "costs.json") == report.costs()
    assert json.loads((out / "report.json").read_text())["on_gpu"] is False


def test_a_failing_check_says_so():
    assert not Check(name="x", measured=0.3, limit=0.2, of="y").ok


def test_what_cannot_run_here_says_what_to_do(capsys):
    assert gpu_check.main(["--device", "cpu"]) == 2
    assert "--tiny" in capsys.readouterr().err
    if not torch.cuda.is_available():
        assert gpu_check.main([]) == 2
        assert "no CUDA GPU" in capsys.readouterr().err


def test_nf4_passes_can_be_recorded():
    """Nothing in bitsandbytes' products hands a number to Python."""
    model = made_up_model(TINY, CPU)
    model.network.set_attn_implementation("sdpa")
    check_static_passes(model, StaticPass(model, Recordings(TapeRecorder())))
    assert model.static is not None, model.notes
    assert model.static.recordings.active, model.static.recordings.why_not
    eager = our_passes(model, eager=True)
    assert (our_passes(model) - eager).abs().max() < 0.02 * eager.abs().max()


def test_an_oracle_is_right_so_often_and_its_siblings_never():
    model = made_up_model(TINY, CPU)
    tree = Tree(((0,), (1,), (0, 0), (0, 1), (0, 0, 0)))
    text = [(7 * i) % 300 for i in range(60)]
    drafter = OracleDrafter(made_up_heads(model, TINY, "own"), tree, text, right=0.6)
    lengths = []
    for at in range(2, 50):
        context = Context(text[at], torch.zeros(1, TINY.hidden), text[: at + 1], 9)
        draft = drafter.draft(context)
        wanted = [text[at + 1 + int(depth)] for depth in draft.tree.depths]
        path, _ = follow(draft.tree, draft.tokens.tolist(), wanted.__getitem__)
        assert all(
            draft.tree.paths[row - 1] == (0,) * depth for depth, row in enumerate(path) if row
        )
        lengths.append(len(path))
    assert 1.5 < sum(lengths) / len(lengths) < 2.9  # 1 + 0.6 + 0.36 + 0.216 = 2.18
    assert right_for(2.176, 3) == pytest.approx(0.6, abs=1e-6)
