"""`race` over a fake engine."""

import pytest

from explorer.analysis.speedup import race_figures
from explorer.commands import cli, race
from explorer.records.events import collect
from explorer.records.settings import DecodeSettings
from tests.commands.fakes import TEXT, refused, run_json

SETTINGS = DecodeSettings()


def test_race_compares_the_lanes(fake, capsys):
    result, _ = run_json(capsys, "race", "Hello")
    assert set(result["lanes"]) == {"plain", "medusa"}
    plain, medusa = result["lanes"]["plain"], result["lanes"]["medusa"]
    trace = collect(fake.race("Hello", SETTINGS))
    for found, lane in ((medusa, trace), (plain, trace.rival)):
        seconds = sum(step.timings.step for step in lane.steps) / 1000
        assert found["seconds"] == pytest.approx(seconds)  # recording is no part of the clock
        assert found["tokens_per_second"] == pytest.approx(len(lane.new_token_ids) / seconds)
        assert found["tokens_per_step"] == len(lane.new_token_ids) / len(lane.steps)
    assert plain["tokens_per_step"] == 1
    ratio = medusa["tokens_per_second"] / plain["tokens_per_second"]
    assert result["speedup"] == pytest.approx(ratio)
    assert result["identical"] is True


def test_race_sees_a_difference(fake, capsys):
    fake.plain_text = TEXT[:-1]
    result, _ = run_json(capsys, "race", "Hello")
    assert result["identical"] is False


def test_race_of_many_methods(fake, capsys):
    result, _ = run_json(capsys, "race", "Hello", "--methods", "prompt-lookup, plain,lookahead")
    assert list(result["lanes"]) == ["plain", "prompt-lookup", "lookahead"]
    assert result["settings"]["method"] == "prompt-lookup"
    plain, _, lookahead = result["lanes"].values()
    ratio = lookahead["tokens_per_second"] / plain["tokens_per_second"]
    assert lookahead["speedup"] == pytest.approx(ratio)
    assert lookahead["identical"] is True
    assert plain["speedup"] is None
    assert cli.main(["race", "Hello", "--methods", "plain,medusa,lookahead"]) == 0
    assert "all lanes gave the same text" in capsys.readouterr().out


def test_race_for_a_person_is_text(fake, capsys):
    assert cli.main(["race", "Hello"]) == 0
    out = capsys.readouterr().out
    assert f"speedup {race_figures(collect(fake.race('Hello', SETTINGS))).speedup:.2f}×" in out
    assert "both lanes gave the same text" in out


def test_a_person_reads_dashes_where_nothing_was_measured():
    lane = {"tokens_per_second": None, "tokens_per_step": None, "seconds": 0.0, "new_tokens": 0}
    lane |= {"speedup": None, "identical": True}
    result = {
        "lanes": {"plain": lane, "medusa": lane},
        "identical": True,
        "speedup": None,
        "half_width": None,
        "estimate": True,
        "text": "",
    }
    assert "speedup –×" in race.render(result)


@pytest.mark.parametrize(
    ("argv", "hint"),
    [
        (["race", "x", "--methods", "medusa"], "plain and at least one other"),
        (["race", "x", "--methods", ""], "plain and at least one other"),
        (["race", "x", "--methods", "plain,telepathy"], "no method 'telepathy'"),
    ],
)
def test_bad_input_is_one_line_and_status_two(fake, capsys, argv, hint):
    assert hint in refused(capsys, *argv)
