"""`train` for real, through the command line, on a tiny GGUF."""

from __future__ import annotations

import json

import pytest

import explorer
from explorer.analysis.rank_table import load_rank_table
from explorer.commands.cli import main
from explorer.heads.checkpoints import load_heads
from explorer.heads.fingerprint import heads_hash
from explorer.models.chat import encode_prompt
from explorer.models.draft import load_draft
from explorer.training.data import read_conversations
from tests.weights.tiny_gguf import VOCAB, write_gguf


def conversations(path, count=24, length=24):
    lines = [
        {"prompt": [1, 10 + i, 2], "response": [40 + (i + 7 * j) % 90 for j in range(length)]}
        for i in range(count)
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A tiny GGUF, and a cache folder of its own."""
    monkeypatch.setenv("MEDUSA_EXPLORER_CACHE", str(tmp_path / "cache"))
    return write_gguf(tmp_path / "tiny.gguf")


def run_json(capsys, *argv):
    assert main([*map(str, argv), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("architecture", ["medusa", "hydra"])
def test_trained_heads_race(tiny, tmp_path, capsys, architecture):
    out = tmp_path / "heads"
    result = run_json(
        capsys, "train", "heads", "--model", tiny, "--data", conversations(tmp_path / "d", 40, 30),
        "--out", out, "--architecture", architecture, "--epochs", 2, "--draft-vocab-size", 128,
        "--num-heads", 3, "--cache-folder", tmp_path / "hidden",
    )  # fmt: skip
    assert result["history"][1]["loss"] < result["history"][0]["loss"]

    lab = explorer.load(model=str(tiny), heads=str(out))
    heads, table = load_heads(out, lab.model), load_rank_table(out)
    assert heads.config.architecture == architecture
    assert table.heads == heads_hash(heads)
    rows = [len(text.rows) for text in table.ranked()]
    assert rows
    assert result["holdout_tokens"] == sum(rows) + 3 * len(rows)  # three heads look ahead
    assert "guessed" not in " ".join(lab.notes)
    argv = ["--max-new-tokens", 12, "--tree", "cartesian:2,2", "--methods", f"plain,{architecture}"]
    race = run_json(capsys, "race", "hello", "--model", tiny, "--heads", out, *argv)
    assert race["identical"] is True
    assert race["lanes"][architecture]["new_tokens"] > 0


def test_written_data_can_be_trained_on(tiny, tmp_path, capsys):
    prompts, out = tmp_path / "prompts.jsonl", tmp_path / "text.jsonl.gz"
    prompts.write_text("\n".join(json.dumps({"prompt": f"hello {'x' * i}"}) for i in range(12)))
    argv = ["train", "data", "--model", tiny, "--prompts", prompts, "--out", out]
    argv += ["--max-new-tokens", 20, "--least-distinct", 0, "--sampled-share", 1, "--seed", 3]
    result = run_json(capsys, *argv)
    texts = read_conversations(out, len(VOCAB))
    assert result["conversations"] == len(texts) > 6
    assert result["reply_tokens"] == sum(len(text.response) for text in texts)
    tokenizer = explorer.load(model=str(tiny), heads="none").model.tokenizer
    wanted = {tuple(encode_prompt(tokenizer, f"hello {'x' * i}")) for i in range(12)}
    assert {text.prompt for text in texts} <= wanted


def test_a_tuned_model_is_served_and_labelled(tiny, tmp_path, capsys):
    model, out = tiny, tmp_path / "tuned"
    untouched = model.read_bytes()
    argv = ["train", "joint", "--model", str(model), "--data", str(conversations(tmp_path / "d"))]
    argv += ["--out", str(out), "--epochs", "2", "--alone-epochs", "1", "--lr", "0.01"]
    argv += ["--language-loss", "text", "--draft-vocab-size", "128", "--num-heads", "2"]
    trained = run_json(capsys, *argv, "--cache-folder", tmp_path / "hidden")
    table = load_rank_table(out)
    assert table.heads == heads_hash(load_heads(out))
    assert any(len(text.rows) for text in table.ranked())
    assert table.texts != load_rank_table(out / "heads-alone").texts
    assert model.read_bytes() == untouched
    assert trained["perplexity"]["unmerged"] < trained["perplexity"]["untouched"]
    # The rounding was in the loop, so quantising again costs little of what was gained.
    gained = trained["perplexity"]["untouched"] - trained["perplexity"]["unmerged"]
    assert trained["perplexity"]["merged_int4"] < trained["perplexity"]["untouched"] - gained / 2

    def run(*more):
        settings = ["--max-new-tokens", 24, "--tree", "cartesian:2,2"]
        return run_json(capsys, "run", "hello", "--model", model, *settings, *more)

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


def test_a_draft_is_distilled(tiny, tmp_path, capsys):
    model, out = tiny, tmp_path / "draft"
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
