"""`calibrate` measures on the built-in prompts, and shows what it found."""

from explorer import cli
from explorer.analysis import calibration as module
from explorer.analysis.calibration_file import Calibration, Key
from explorer.analysis.cost_curve import CostCurve
from tests.commands.fakes import run_json


def test_calibrate_uses_the_built_in_prompts(fake, capsys, monkeypatch):
    curve = CostCurve(
        context_length=128, rounds=1, one_row_ms=20, rows=[1, 2], milliseconds=[20, 22],
        ratios=[1.0, 1.1],
    )  # fmt: skip
    found = Calibration(
        created="now", key=Key(model="m", heads="h", backend="int4", device="d"), basis="prompts",
        positions=10, cost_curve=[curve], heads_ms=1, rest_ms=1, head_accuracy=[[0.5, 0.1]],
        tree=[[0]], expected_tokens_per_step=1.5, joint_tokens_per_step=1.5,
        product_tokens_per_step=1.5, expected_speedup=1.2,
    )  # fmt: skip
    seen = {}

    def calibrate(engine, prompts, progress=None, **settings):
        seen.update(settings, prompts=prompts)
        return found

    monkeypatch.setattr(module, "calibrate", calibrate)
    result, _ = run_json(capsys, "calibrate", "--limit", "3")
    assert len(seen["prompts"]) == 3
    assert result["tree"] == [[0]]
    assert result["head_accuracy"] == [[0.5, 0.1]]
    assert result["cost_curve"][0]["ratios"] == [1.0, 1.1]
    assert result["expected_tokens_per_step"] == 1.5
    assert result["expected_speedup"] == 1.2
    assert cli.main(["calibrate"]) == 0
    assert "Speculation should pay here" in capsys.readouterr().out
