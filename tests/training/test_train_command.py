"""`train` for real, on a tiny GGUF: heads, a rank table beside them, and a race with both."""

from __future__ import annotations

import json

import explorer
from explorer.analysis.rank_table import load_rank_table
from explorer.cli import main
from explorer.config import DecodeSettings
from explorer.models.draft import load_draft
from explorer.tracing.events import TraceBuilder
from tests.models.tiny_gguf import write_gguf


def test_trained_heads_race(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MEDUSA_EXPLORER_CACHE", str(tmp_path / "cache"))
    model = write_gguf(tmp_path / "tiny.gguf")
    lines = [
        {"prompt": [1, 10 + i, 2], "response": [40 + (i + 7 * j) % 90 for j in range(30)]}
        for i in range(40)
    ]
    data = tmp_path / "text.jsonl"
    data.write_text("\n".join(map(json.dumps, lines)))
    argv = ["train", "heads", "--model", str(model), "--data", str(data)]
    argv += ["--out", str(tmp_path / "heads")]
    argv += ["--epochs", "2", "--draft-vocab-size", "128", "--num-heads", "3", "--json"]
    assert main([*argv, "--cache-folder", str(tmp_path / "hidden")]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["history"][1]["loss"] < result["history"][0]["loss"]
    assert len(load_rank_table(tmp_path / "heads").rows()) == 2  # 5 % of the conversations

    lab = explorer.load(model=str(model), heads=str(tmp_path / "heads"))
    assert "guessed" not in " ".join(lab.notes)
    builder = TraceBuilder()
    for event in lab.race("hello", DecodeSettings(max_new_tokens=12, tree="cartesian:2,2")):
        builder.add(event)
    trace = builder.trace()
    assert trace.header.num_heads == 3
    assert trace.new_token_ids == [token.token_id for token in trace.plain]


def conversations(path, count=24, length=24):
    lines = [
        {"prompt": [1, 10 + i, 2], "response": [40 + (i + 7 * j) % 90 for j in range(length)]}
        for i in range(count)
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def test_a_tuned_model_is_served_and_labelled(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MEDUSA_EXPLORER_CACHE", str(tmp_path / "cache"))
    model, out = write_gguf(tmp_path / "tiny.gguf"), tmp_path / "tuned"
    untouched = model.read_bytes()
    argv = ["train", "joint", "--model", str(model), "--data", str(conversations(tmp_path / "d"))]
    argv += ["--out", str(out), "--epochs", "2", "--alone-epochs", "1", "--lr", "0.01"]
    argv += ["--language-loss", "text", "--draft-vocab-size", "128", "--num-heads", "2"]
    assert main([*argv, "--cache-folder", str(tmp_path / "hidden"), "--json"]) == 0
    trained = json.loads(capsys.readouterr().out)
    assert model.read_bytes() == untouched
    assert trained["perplexity"]["unmerged"] < trained["perplexity"]["untouched"]
    # The rounding was in the loop, so quantising again costs little of what was gained.
    gained = trained["perplexity"]["untouched"] - trained["perplexity"]["unmerged"]
    assert trained["perplexity"]["merged_int4"] < trained["perplexity"]["untouched"] - gained / 2

    def run(*more):
        settings = ["--max-new-tokens", "24", "--tree", "cartesian:2,2", "--json"]
        assert main(["run", "hello", "--model", str(model), *settings, *more]) == 0
        return json.loads(capsys.readouterr().out)

    tuned = run("--heads", str(out))
    assert tuned["backend"] == "int4"
    assert "not to tiny.gguf" in tuned["tuned"]
    assert "merged and quantised again" in " ".join(tuned["notes"])
    assert run("--heads", str(out), "--method", "plain")["token_ids"] == tuned["token_ids"]
    other = run("--heads", str(out), "--adapter", "none")
    assert other["tuned"] is None
    assert other["token_ids"] != tuned["token_ids"]
    named = run("--heads", "none", "--adapter", str(out / "adapter"), "--method", "plain")
    assert named["token_ids"] == tuned["token_ids"]


def test_a_draft_is_distilled(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MEDUSA_EXPLORER_CACHE", str(tmp_path / "cache"))
    model, out = write_gguf(tmp_path / "tiny.gguf"), tmp_path / "draft"
    argv = ["train", "draft", "--model", str(model), "--data", str(conversations(tmp_path / "d"))]
    argv += ["--out", str(out), "--layers", "1", "--epochs", "3", "--draft-vocab-size", "128"]
    assert main([*argv, "--cache-folder", str(tmp_path / "hidden")]) == 0
    shown = capsys.readouterr()
    assert "epoch 3/3: loss" in shown.err
    assert "The draft's first choice is the base model's at" in shown.out
    lab = explorer.load(model=str(model), heads="none")
    draft = load_draft(out, lab.model)
    history = draft.draft_config.training["history"]
    assert history[-1]["loss"] < history[0]["loss"]
    assert draft.draft_config.base_model == lab.model.name
