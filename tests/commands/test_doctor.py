"""`doctor` on the command line, and its page."""

import re

import pytest

from explorer.analysis.checkup import Checkup
from explorer.commands import cli
from explorer.figures.checkup_page import checkup_page
from explorer.measuring import doctor as module
from tests.analysis.test_diagnosis import SPOILED, case
from tests.commands.fakes import refused, run_json

EVIL = '<script>alert("x")</script>'


def checkup(cause="heads-heavy", **facts):
    from explorer.analysis.diagnosis import diagnose

    found = case(**SPOILED[cause])
    return Checkup(
        model="/home/someone/models/tiny", backend="int4", device="cpu", method="medusa",
        settings={"tree": "auto"}, prompts=1, identical=1, bit_exact=True,
        plain_tokens_per_second=100.0, tokens_per_second=120.0,
        heads=found.heads.model_copy(update={"name": "/home/someone/heads"} | facts),
        accuracy=found.accuracy, ledger=found.ledger, cost_curve=found.curve,
        findings=diagnose(found),
    )  # fmt: skip


@pytest.fixture
def seen(monkeypatch):
    asked = {}

    def examine(lab, prompts, settings, progress=None):
        asked.update(prompts=prompts, settings=settings)
        return checkup()

    monkeypatch.setattr(module, "examine", examine)
    return asked


def test_the_json_holds_findings_ledger_heads_and_accuracy(fake, capsys, seen):
    result, _ = run_json(capsys, "doctor", "--limit", "3", "--temperature", "0.7", "--raw")
    assert len(seen["prompts"]) == 3
    assert (seen["settings"].temperature, seen["settings"].raw_prompt) == (0.7, True)
    assert result["findings"][0]["cause"] == "heads-heavy"
    assert {"cause", "costs", "evidence", "remedy"} <= set(result["findings"][0])
    assert {"ledger", "heads", "accuracy"} <= set(result)
    assert cli.main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "1. The heads take too much of a step" in out
    assert "head 1 missed" in out


def test_the_page_opens_offline_and_holds_no_path_and_no_prompt(fake, capsys, seen, tmp_path):
    page = tmp_path / "report.html"
    assert cli.main(["doctor", "--limit", "2", "--html", str(page)]) == 0
    text = page.read_text()
    assert "/home/someone" not in text
    assert str(tmp_path) not in text
    for prompt in seen["prompts"]:
        assert prompt["prompt"] not in text
    outside = re.sub(r"<script[^>]*>.*?</script>", "", text, flags=re.S)
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", outside)
    assert "<script src" not in text
    assert cli.main(["doctor", "--limit", "2", "--html", str(page), "--with-prompts"]) == 0
    assert seen["prompts"][0]["prompt"] in page.read_text()


def test_what_a_checkpoint_says_enters_the_page_as_text():
    page = checkup_page(checkup(trained_for=EVIL, differences=[EVIL], trained_on=EVIL), [EVIL])
    assert EVIL not in page
    assert page.count("&lt;script&gt;") >= 3


def test_a_page_that_cannot_be_written_is_one_line(fake, capsys, seen, tmp_path):
    assert "choose another place" in refused(capsys, "doctor", "--html", str(tmp_path))
