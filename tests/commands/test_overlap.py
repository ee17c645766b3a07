"""`overlap` on the command line."""

import pytest

from explorer.analysis.who_knew import compare_knowledge
from explorer.commands import cli
from explorer.measuring import who_knew as module
from tests.commands.fakes import refused, run_json


@pytest.fixture
def asked(monkeypatch):
    seen = {}

    def who_knew(lab, prompt, settings, methods, progress):
        seen.update(prompt=prompt, methods=methods)
        return compare_knowledge(list("abc"), {"medusa": [1, 0, 0], "lookahead": [0, None, 0]})

    monkeypatch.setattr(module, "who_knew", who_knew)
    return seen


def test_the_json_and_the_table(fake, capsys, asked):
    result, _ = run_json(capsys, "overlap", "Hi", "--methods", "medusa,lookahead")
    assert (asked["prompt"], asked["methods"]) == ("Hi", ["medusa", "lookahead"])
    assert result["methods"]["medusa"]["known"] == 0.5
    assert {"tokens", "overlap", "router_tokens_per_step", "nobody"} <= set(result)
    assert cli.main(["overlap", "Hi"]) == 0
    assert "knew beforehand" in capsys.readouterr().out
    assert "no method" in refused(capsys, "overlap", "Hi", "--methods", "magic")
