"""`bench` hands its options over, and the report back."""

from explorer.commands import cli
from explorer.measuring import bench as module
from explorer.measuring import bench_report as reports
from explorer.records.prompts import BUILT_IN
from tests.commands.fakes import refused, run_json


def test_bench_hands_its_options_over(fake, capsys, monkeypatch, tmp_path):
    figures = reports.MethodFigures.model_construct(
        tokens=5, steps=3, seconds=0.03, tokens_per_second=166.7, tokens_per_step=1.67,
        step_ms=10.0, speedup=1.67, shares=None,
    )  # fmt: skip
    category = reports.CategoryFigures.model_construct(
        prompts=1, speedup=1.67, tokens_per_step=1.67
    )
    report = reports.BenchReport.model_construct(
        model="fake", heads="heads", backend="int4", device="cpu", main_method="medusa",
        max_new_tokens=5, prompts=1, identical_prompts=1, speedup=1.67,
        methods={"medusa": figures}, per_category={"all": category}, overhead=[],
        cost_curve=None, reference=None, plain_over_generate=None, races=[], sentence="It pays.",
        spread=0.1,
    )  # fmt: skip
    seen = {}

    def bench(engine, prompts, progress=None, **settings):
        seen.update(settings, prompts=prompts)
        return report

    monkeypatch.setattr(module, "bench", bench)
    file = tmp_path / "p.jsonl"
    file.write_text('{"prompt": "One"}\n{"prompt": "Two"}\n')
    argv = ["bench", "--prompts", str(file), "--limit", "1", "--methods", "plain, medusa"]
    result, _ = run_json(capsys, *argv, "--reference", "--tree", "chain:2")
    promised = {"methods", "speedup", "per_category", "identical_prompts", "prompts"}
    assert promised | {"plain_over_generate", "cost_curve", "overhead"} <= set(result)
    assert seen["methods"] == ["plain", "medusa"]
    assert seen["reference"] is True
    assert seen["tree"] == "chain:2"
    assert [p["prompt"] for p in seen["prompts"]] == ["One"]
    assert cli.main(argv) == 0
    assert "It pays." in capsys.readouterr().out


def test_an_unknown_method_is_one_line(fake, capsys):
    argv = ["bench", "--prompts", str(BUILT_IN), "--methods", "tea"]
    assert "no method 'tea'" in refused(capsys, *argv)
