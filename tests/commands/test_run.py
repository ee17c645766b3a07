"""`run` over a fake engine: arguments in, JSON and exit status out."""

import io
import sys

import pytest

from explorer.commands import cli
from explorer.records.events import collect
from explorer.records.files import read_trace
from explorer.records.settings import DecodeSettings
from tests.commands.fakes import TEXT, refused, run_json


def test_run_gives_the_promised_fields(fake, capsys):
    result, err = run_json(capsys, "run", "Hello", "--max-new-tokens", "8")
    trace = collect(fake.decode("Hello", DecodeSettings()))
    seconds = sum(step.timings.step for step in trace.steps) / 1000
    assert result["text"] == TEXT  # joined over token borders, the end token left out
    assert result["token_ids"] == trace.new_token_ids
    assert result["method"] == "medusa"
    assert result["steps"] == len(trace.steps)
    assert result["new_tokens"] == 6
    assert result["tokens_per_step"] == pytest.approx(6 / len(trace.steps))
    assert result["seconds"] == pytest.approx(seconds)  # recording is no part of the clock
    assert result["tokens_per_second"] == pytest.approx(6 / seconds)
    assert result["backend"] == "int4"
    assert "chatter" in err
    assert "A calm note." in err
    assert fake.asked[0][1].max_new_tokens == 8


def test_run_streams_the_text_for_a_person(fake, capsys):
    assert cli.main(["run", "Hello"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Hi🙂!")
    assert f"6 tokens in {len(fake.trace('Hello').steps)} steps" in out


def test_run_passes_every_setting_on(fake, capsys):
    run_json(
        capsys, "run", "Hello", "--method", "plain", "--temperature", "0.7", "--top-p", "0.9",
        "--top-k", "40", "--seed", "3", "--acceptance", "typical", "--epsilon", "0.2",
        "--delta", "0.4", "--root-rule", "greedy", "--tree", "chain:2",
        "--system", "Be brief.", "--raw",
        "--candidates", "top", "--draft-tokens", "5", "--draft-layers", "4",
        "--lookahead-window", "6", "--lookahead-ngram", "5", "--lookahead-guesses", "7",
        "--lookup-tokens", "8", "--lookup-ngram", "2",
        "--backend", "fp32", "--device", "cpu", "--heads", "mine", "--adapter", "tuned",
        "--draft", "small", "--heads-dtype", "nf4", "--heads-vocabulary", "4096",
    )  # fmt: skip
    settings = fake.asked[0][1].model_dump()
    assert settings == {
        "method": "plain", "tree": "chain:2", "acceptance": "typical", "temperature": 0.7,
        "top_p": 0.9, "top_k": 40, "epsilon": 0.2, "delta": 0.4, "seed": 3, "root_rule": "greedy",
        "max_new_tokens": 128, "system_prompt": "Be brief.", "raw_prompt": True,
        "candidates": "top", "draft_tokens": 5, "draft_layers": 4, "lookahead_window": 6,
        "lookahead_ngram": 5, "lookahead_guesses": 7, "lookup_tokens": 8, "lookup_ngram": 2,
    }  # fmt: skip
    assert fake.loaded == {
        "preset": "default", "model": None, "heads": "mine", "backend": "fp32", "device": "cpu",
        "adapter": "tuned", "draft": "small", "heads_dtype": "nf4", "heads_vocabulary": 4096,
    }  # fmt: skip


def test_run_writes_a_trace(fake, capsys, tmp_path):
    path = tmp_path / "run.json.gz"
    result, _ = run_json(capsys, "run", "Hello", "--trace", str(path))
    assert read_trace(path).new_token_ids == result["token_ids"]
    assert result["trace"] == str(path)


def test_run_continues_from_a_trace(fake, capsys, tmp_path):
    path = str(tmp_path / "run.json.gz")
    run_json(capsys, "run", "Hello", "--trace", path)
    result, _ = run_json(capsys, "run", "--continue-from", path, "--max-new-tokens", "8")
    earlier = read_trace(path)
    assert fake.asked[1][0].ids == [*earlier.header.prompt_ids, *earlier.new_token_ids]
    assert result["continued_tokens"] == len(earlier.new_token_ids)


def test_prompt_from_stdin(fake, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("Grüße".encode())))
    run_json(capsys, "run", "-")
    assert fake.asked[0][0] == "Grüße"


@pytest.mark.parametrize(
    ("argv", "hint"),
    [
        (["run", ""], "prompt is empty"),
        (["run", "a\udcff"], "not UTF-8"),
        (["run", "x", "--max-new-tokens", "0"], "max_new_tokens"),
        (["run", "x", "--max-new-tokens", "two"], "max-new-tokens"),
        (["run", "x", "--temperature", "nan"], "temperature"),
        (["run", "x", "--temperature", "1e-40"], "too low to sample"),
        (["run", "x", "--tree", "chain:1" + "0" * 30_000], "tree"),
        (["run", "x", "--acceptance", "best"], "acceptance"),
        (["run", "x", "--acceptance", "greedy", "--temperature", "1"], "Greedy"),
        (["run", "x", "--method", "magic"], "no method 'magic'"),
        (["run", "x", "--preset", "nope"], "no preset 'nope'"),
        (["run", "x", "--preset", "zephyr-7b-beta", "--model", "y"], "not allowed"),
        (["run", "x", "--backend", "int3"], "int3"),
        (["run", "x", "--trace", "/nowhere/at/all/x.json.gz"], "No trace can be written"),
        (["run", "x", "--trace", "x" * 300], "No trace can be written"),
        (["run", "x", "--trace", "~nobody-here/x.json.gz"], "No trace can be written"),
        (["run", "x", "--max-new", "3"], "max-new"),  # options are never guessed
        (["run"], "PROMPT"),
        (["run", "x", "--continue-from", "y.json.gz"], "one of the two"),
        (["run", "--continue-from", "/nowhere.json.gz"], "Cannot read"),
        (["run", "x", "--candidates", "best"], "candidates"),
        (["run", "x", "--candidates", "drawn"], "temperature above 0"),
        (["run", "x", "--method", "draft-model", "--draft-tokens", "0"], "draft_tokens"),
        (["run", "x", "--method", "lookahead", "--lookahead-ngram", "2"], "lookahead_ngram"),
    ],
)
def test_bad_input_is_one_line_and_status_two(fake, capsys, argv, hint):
    assert hint in refused(capsys, *argv)


def test_an_unknown_method_is_refused_before_the_model_is_loaded(fake, capsys):
    assert "no method 'nonsense'" in refused(capsys, "run", "hi", "--method", "nonsense")
    assert not hasattr(fake, "loaded")
