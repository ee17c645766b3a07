"""`replay` reads traces, and needs no model."""

from explorer.commands import cli
from explorer.records.paths import ROOT
from tests.commands.fakes import refused, run_json

FILES = [str(ROOT / "assets" / "traces" / name) for name in ("code.json.gz", "json.json.gz")]


def test_recorded_runs_are_replayed(fake, capsys):
    argv = ["replay", "--trace", *FILES, "--tree", "best:3", "dynamic:3", "root"]
    result, _ = run_json(capsys, *argv)
    assert result["traces"] == 2
    assert [found["tree"] for found in result["trees"]] == ["best:3", "dynamic:3", "root"]
    assert result["trees"][2]["tokens_per_step"] == 1.0
    assert result["trees"][0]["tokens_per_step"] > 1.0
    assert not hasattr(fake, "loaded")
    assert cli.main(argv) == 0
    assert "nothing was decoded" in " ".join(capsys.readouterr().out.split())


def test_bad_input_is_one_line(fake, capsys):
    assert "twice" in refused(capsys, "replay", "--trace", FILES[0], FILES[0], "--tree", "root")
    assert "Cannot read" in refused(capsys, "replay", "--trace", "/nowhere", "--tree", "root")
    assert "no tree" in refused(capsys, "replay", "--trace", *FILES, "--tree", "tea")
