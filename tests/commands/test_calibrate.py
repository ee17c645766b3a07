"""`calibrate` measures on the built-in prompts, and shows what it found."""

import re

import pytest

from explorer.analysis.calibration import Calibration, Key
from explorer.analysis.cost_curve import CostCurve
from explorer.analysis.cost_file import read_costs
from explorer.commands import cli
from explorer.measuring import batch as batch_module
from explorer.measuring import calibration as module
from explorer.measuring import decoded as decoded_module
from explorer.measuring.batch import BatchReport, BatchSize
from tests.commands.fakes import CommandLab, run_json

CURVE = CostCurve(
    context_length=128, rounds=1, one_row_ms=20, rows=[1, 2], milliseconds=[20, 22],
    ratios=[1.0, 1.1],
)  # fmt: skip


@pytest.fixture
def seen(monkeypatch):
    """What the measuring was asked for; it finds the same every time."""
    found = Calibration(
        created="now", key=Key(model="m", heads="h", backend="int4", device="d"), basis="prompts",
        positions=10, cost_curve=[CURVE], heads_ms=1, rest_ms=1, head_accuracy=[[0.5, 0.1]],
        tree=[[0]], expected_tokens_per_step=1.5, joint_tokens_per_step=1.5,
        product_tokens_per_step=1.5, expected_speedup=1.2,
    )  # fmt: skip
    asked = {}

    def decode_texts(engine, prompts, settings, progress):
        asked.update(prompts=prompts, settings=settings)
        return "decoded"

    def calibrate(engine, prompts, method, progress=None, **given):
        asked.update(given, method=method)
        return found

    monkeypatch.setattr(decoded_module, "decode_texts", decode_texts)
    monkeypatch.setattr(module, "calibrate", calibrate)
    return asked


def test_calibrate_uses_the_built_in_prompts(fake, capsys, seen):
    result, _ = run_json(capsys, "calibrate", "--limit", "3", "--max-new-tokens", "9")
    assert len(seen["prompts"]) == 3
    assert seen["settings"].max_new_tokens == 9
    assert seen["decoded"] == "decoded"
    assert result["tree"] == [[0]]
    assert result["head_accuracy"] == [[0.5, 0.1]]
    assert result["cost_curve"][0]["ratios"] == [1.0, 1.1]
    assert result["expected_tokens_per_step"] == 1.5
    assert result["expected_speedup"] == 1.2
    assert "batches" not in result
    assert cli.main(["calibrate"]) == 0
    printed = capsys.readouterr().out
    assert "Speculation should pay here" in printed
    assert re.search(r"^best tree, by \d+ positions decoded here: ", printed, re.MULTILINE)


def test_the_heads_at_hand_are_calibrated(fake, capsys, monkeypatch, seen):
    monkeypatch.setattr(CommandLab, "method", "hydra")
    run_json(capsys, "calibrate", "--limit", "1")
    assert seen["method"] == seen["settings"].method == "hydra"


def test_batches_are_measured_on_the_same_texts(fake, capsys, monkeypatch, seen):
    size = BatchSize(
        batch=4, cost_curve=CURVE, rows_per_second=[50.0, 90.9], heads_ms=1, rest_ms=1,
        plain_tokens_per_second=200.0, tokens_per_second=220.0, speedup=1.1,
        speedup_by_rows={2: 1.1}, best_rows=2, best_speedup=1.1,
    )  # fmt: skip
    report = BatchReport(
        model="m", heads="h", backend="int4", device="cpu", method="medusa", context_length=128,
        positions=10, tree=[[0]], rows=2, tokens_per_step=1.5, tokens_per_step_by_rows={2: 1.5},
        sizes=[size], most_rows_per_second=90.9, gone_from=None, best_gone_from=None,
        sentence="The gain outlasts it.",
    )  # fmt: skip

    def measure_batches(engine, prompts, method, decoded, progress):
        seen["batches_on"] = decoded
        return report

    monkeypatch.setattr(batch_module, "measure_batches", measure_batches)
    result, _ = run_json(capsys, "calibrate", "--batches")
    assert seen["batches_on"] == "decoded"
    assert result["batches"]["sizes"][0]["speedup"] == 1.1
    assert result["expected_speedup"] == 1.2
    assert cli.main(["calibrate", "--batches"]) == 0
    out = capsys.readouterr().out
    assert "The gain outlasts it." in out
    assert "medusa, estimate" in out


def test_the_costs_are_written_to_share(fake, capsys, seen, tmp_path):
    path = tmp_path / "costs.json"
    found = ("--out", str(path), "--measured-by", "a class")
    result, _ = run_json(capsys, "calibrate", "--limit", "3", *found)
    costs = read_costs(path)
    assert result["out"] == str(path)
    assert (costs.backend, costs.device, costs.measured_by) == ("int4", "d", "a class")
    assert [(each.batch, each.curve) for each in costs.curves] == [(1, CURVE)]
