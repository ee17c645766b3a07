"""`train` for real, on a tiny GGUF: heads, a rank table beside them, and a race with both."""

from __future__ import annotations

import json

import explorer
from explorer.analysis.rank_table import load_rank_table
from explorer.cli import main
from explorer.config import DecodeSettings
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
