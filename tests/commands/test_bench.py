"""`bench` hands its options over, and the report back."""

from explorer.commands import cli
from explorer.commands.bench import render
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
        half_width=0.1,
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


def test_the_text_names_the_yardsticks(fake):
    row = {"tokens_per_second": 50.0, "tokens_per_step": 1.0, "step_ms": 20.0, "speedup": None}
    result = {
        "methods": {"plain": row | {"shares": None}}, "details": {}, "per_category": {},
        "overhead": [], "cost_curve": None, "assisted_reference": {}, "speedup": None,
        "prompts": 6, "identical_prompts": 6, "plain_over_generate": None, "sentence": "It pays.",
        "llama_cpp": {
            "prompts": 6, "max_new_tokens": 128, "threads": 2, "version": "xllamacpp 1",
            "tokens_per_second": 100.0, "plain_tokens_per_second": 50.0,
            "plain_over_llama_cpp": 0.5, "best_method": "medusa", "best_tokens_per_second": 75.0,
            "best_over_llama_cpp": 0.75, "identical_prompts": 5, "same_prompt_tokens": True,
            "idle_cpu": 0.01, "our_idle_cpu": None,
        },
        "unavailable": {},
        "peak_memory": {"bytes": 5_100_000_000, "of": "tensors on the GPU"},
        "floor": {
            "context_length": 128, "bytes": 100_000_000, "read_bandwidth_gb_s": 20.0,
            "floor_ms": 5.0, "plain_step_ms": 20.0, "step_over_floor": 4.0, "methods": {},
            "sentence": "Its floor is 5.00 ms.",
        },
    }  # fmt: skip
    text = " ".join(render(result).split())
    assert "llama.cpp, plain 100.0 1.00×" in text
    assert "plain 50.0 0.50×" in text
    assert "medusa 75.0 0.75×" in text
    assert "threads: 2, the same prompt tokens; 5 of 6" in text
    assert "plain 100.0 5.00 20.00 4.00×" in text
    assert "Its floor is 5.00 ms." in text
    assert "Peak memory: 5.10 GB, tensors on the GPU." in text
    why = "llama.cpp was not measured, because xllamacpp is not installed: run 'make reference'."
    words = render(result | {"llama_cpp": None, "unavailable": {"llama.cpp": why}, "floor": None})
    assert why in words
    assert "same file" not in words


def test_an_unknown_method_is_one_line(fake, capsys):
    argv = ["bench", "--prompts", str(BUILT_IN), "--methods", "tea"]
    assert "no method 'tea'" in refused(capsys, *argv)
