"""Our decoding beside llama.cpp's, which a small program stands in for; once the real one."""

import json
import sys
from pathlib import Path

import pytest
import torch

from explorer.measuring import bench as bench_module
from explorer.measuring import llama_cpp as module
from explorer.measuring.bench import bench
from explorer.measuring.llama_cpp import measure_llama_cpp
from explorer.measuring.llama_cpp_process import ENVIRONMENT, worker_command
from explorer.records.errors import ExplorerError
from explorer.records.settings import decode_settings
from tests.tiny_lab import tiny_lab

FAKE = Path(__file__).with_name("fake_llama_cpp.py")
PLAIN = decode_settings(method="plain", max_new_tokens=6)
MEDUSA = decode_settings(method="medusa", max_new_tokens=6)


@pytest.fixture
def tiny(tmp_path):
    tiny = tiny_lab()
    tiny.model.gguf = tmp_path / "tiny.gguf"
    return tiny


def fake(behaviour="well", *log):
    return lambda: [sys.executable, str(FAKE), behaviour, *map(str, log)]


def measure(tiny, start, prompts=("ab", "cde"), best=MEDUSA):
    return measure_llama_cpp(tiny, prompts, PLAIN, best, lambda replies: None, start)


def test_all_sides_decode_the_same_tokens_with_as_many_threads(tiny, tmp_path):
    log = tmp_path / "asked.jsonl"
    found = measure(tiny, fake("well", log))
    opened, *asked = map(json.loads, log.read_text().splitlines())
    assert opened["model"] == str(tmp_path / "tiny.gguf")
    assert opened["threads"] == found.threads == torch.get_num_threads()
    assert opened["context"] >= 3 + 6
    prompts = [tiny.encode(prompt, PLAIN) for prompt in ("ab", "cde")]
    assert [request["prompt"] for request in asked] == [prompts[0], *prompts]  # a warm-up first
    assert [request["max_new_tokens"] for request in asked[1:]] == [6, 6]
    assert found.version == "fake 1"
    assert found.prompts == 2
    assert found.same_prompt_tokens


def test_the_ratios_are_of_the_rates_that_are_shown(tiny):
    found = measure(tiny, fake())
    assert found.tokens_per_second == pytest.approx(500)  # 2 ms a pass
    assert found.plain_over_llama_cpp == pytest.approx(found.plain_tokens_per_second / 500)
    assert found.best_method == "medusa"
    assert found.best_over_llama_cpp == pytest.approx(found.best_tokens_per_second / 500)
    assert found.idle_cpu == 0.25
    assert found.our_idle_cpu >= 0


def test_who_begins_changes_from_prompt_to_prompt(tiny, monkeypatch):
    order = []

    def ours(tiny, ids, settings):
        order.append(settings.method)
        return [1, 2], 0.1

    monkeypatch.setattr(module, "ours", ours)
    measure_llama_cpp(
        tiny, ["a", "b", "c"], PLAIN, MEDUSA, lambda n: order.append("llama.cpp"), fake()
    )
    assert order[3:] == [
        *("llama.cpp", "plain", "medusa"),
        *("plain", "medusa", "llama.cpp"),
        *("medusa", "llama.cpp", "plain"),
    ]


def test_without_a_method_that_raced_plain_is_compared_alone(tiny):
    found = measure(tiny, fake(), best=None)
    assert found.plain_over_llama_cpp > 0
    assert (found.best_method, found.best_over_llama_cpp) == (None, None)


def test_other_prompt_tokens_are_reported(tiny):
    assert not measure(tiny, fake("other-tokens")).same_prompt_tokens


@pytest.mark.parametrize(
    ("behaviour", "why"),
    [
        ("crash", "its process ended with status 3"),
        ("hang", "did not answer within 1 seconds"),
        ("cannot-read", "it said: this file cannot be opened"),
        ("chatter", "wrote an invalid answer"),
        ("nonsense", "wrote an invalid answer"),
    ],
)
def test_a_failing_process_is_one_sentence(tiny, monkeypatch, behaviour, why):
    monkeypatch.setattr(module, "REPLY_SECONDS", 1.0)
    with pytest.raises(ExplorerError, match=why) as caught:
        measure(tiny, fake(behaviour))
    assert str(caught.value).startswith("llama.cpp was not measured, because ")
    assert "\n" not in str(caught.value)


def test_a_command_that_does_not_start_is_one_sentence(tiny, tmp_path):
    with pytest.raises(ExplorerError, match=r"did not start .* run 'make reference' again"):
        measure(tiny, lambda: [str(tmp_path / "python")])


def test_a_model_that_is_no_gguf_or_is_not_the_files_own(tiny, tmp_path):
    tiny.model.tuned = "lossless with respect to the tuned model"
    with pytest.raises(ExplorerError, match="an adapter has changed"):
        measure(tiny, fake())
    tiny.model.tuned, tiny.model.gguf = None, None
    with pytest.raises(ExplorerError, match="not a GGUF file"):
        measure(tiny, fake())


def test_where_it_is_not_installed_the_sentence_says_how_to(monkeypatch, tmp_path):
    monkeypatch.setattr("explorer.measuring.llama_cpp_process.ENVIRONMENT", tmp_path)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ExplorerError, match="not installed: run 'make reference'"):
        worker_command()
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").touch()
    assert worker_command()[0] == str(tmp_path / "bin" / "python")


@pytest.mark.parametrize("behaviour", ["well", "crash"])
def test_a_benchmark_has_its_figures_or_says_why_not(tiny, monkeypatch, behaviour):
    monkeypatch.setattr(bench_module, "WIDTHS", (1, 4))
    monkeypatch.setattr(
        bench_module,
        "measure_llama_cpp",
        lambda *given: measure_llama_cpp(*given, fake(behaviour)),
    )
    said = []
    prompts = [{"prompt": "ab"}, {"prompt": "cde"}]
    report = bench(
        tiny, prompts, max_new_tokens=6, reference=True, progress=lambda *w: said.append(w)
    )
    assert report.plain_over_generate > 0
    shares = [share for _, share in said]
    assert shares == sorted(shares)
    if behaviour == "well":
        assert report.llama_cpp.prompts == 2
        assert report.llama_cpp.best_method == "medusa"
        assert report.unavailable == {}
        assert said[-1][0] == "llama.cpp, prompt 2 of 2"
    else:
        assert report.llama_cpp is None
        assert "ended with status 3" in report.unavailable["llama.cpp"]


def test_the_real_one_on_the_default_model(lab):
    try:
        worker_command()
    except ExplorerError:
        pytest.skip(f"xllamacpp is not installed in {ENVIRONMENT.name}: run 'make reference'")
    settings = decode_settings(method="plain", max_new_tokens=12)
    found = measure_llama_cpp(lab, ["1 + 1 =", "Name a colour."], settings, None, lambda n: None)
    assert found.version.startswith("xllamacpp ")
    assert found.same_prompt_tokens
    assert found.tokens_per_second > 0
    assert found.plain_over_llama_cpp > 0
    assert found.idle_cpu < 0.5
    assert found.our_idle_cpu < 0.5
