"""`perplexity` hands its options over, and shows the table."""

import pytest

from explorer.commands import cli
from explorer.measuring import perplexity as module
from explorer.measuring.perplexity import Interval, PerplexityReport, RuleFigures
from explorer.records.prompts import BUILT_IN
from tests.commands.fakes import refused, run_json

ARGV = ["perplexity", "--prompts", str(BUILT_IN)]


@pytest.fixture
def seen(monkeypatch):
    asked = {}

    def measure_perplexity(engine, prompts, rules, temperatures, progress, **settings):
        asked.update(settings, prompts=prompts, rules=rules, temperatures=temperatures)
        figures = RuleFigures(
            rule="typical", temperature=0.7, lossless=False, prompts=2, tokens=100, steps=50,
            tokens_per_step=2.0, perplexity=Interval(value=3.0, low=2.5, high=3.5),
            over_sample=Interval(value=0.8, low=None, high=None),
        )  # fmt: skip
        return PerplexityReport(
            model="m", heads=None, backend="int4", device="cpu", method="medusa", tree="auto",
            epsilon=0.09, delta=0.3, root_rule="draw", seed=0,
            max_new_tokens=9, prompts=2, figures=[figures],
        )  # fmt: skip

    monkeypatch.setattr(module, "measure_perplexity", measure_perplexity)
    return asked


def test_options_are_handed_over(fake, capsys, seen):
    more = ["--temperatures", "0.3, 1", "--acceptance", "typical,sample", "--limit", "2"]
    result, _ = run_json(capsys, *ARGV, *more, "--seed", "7", "--max-new-tokens", "9")
    assert (seen["rules"], seen["temperatures"]) == (["typical", "sample"], [0.3, 1.0])
    assert (seen["seed"], seen["max_new_tokens"], len(seen["prompts"])) == (7, 9, 2)
    assert result["figures"][0]["perplexity"] == {"value": 3.0, "low": 2.5, "high": 3.5}
    assert cli.main(ARGV) == 0
    out = capsys.readouterr().out
    assert "3.00 (2.50–3.50)" in out
    assert "0.80\n" in out


def test_a_temperature_that_is_no_number_is_one_line(fake, capsys):
    assert "'warm' is not a number" in refused(capsys, *ARGV, "--temperatures", "warm")
    assert "temperature" in refused(capsys, *ARGV, "--temperatures", "1e999")
