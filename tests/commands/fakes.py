"""The fake lab as a command meets it, and how a test runs a command over it."""

import json
from types import SimpleNamespace

from explorer.commands import cli
from tests.ui.fake_run import CHAIN
from tests.ui.fakes import FakeLab

TEXT = "Hi🙂!\x1b"  # an emoji in two tokens, and a character that a terminal would obey
NOTE = "A calm note."


class CommandLab(FakeLab):
    """Writes TEXT. Remembers what it was asked, and prints on stdout, as libraries do."""

    notes = (NOTE,)
    heads = "the heads"
    model = SimpleNamespace(tuned="lossless with respect to the tuned model, not to fake")

    def __init__(self):
        super().__init__(TEXT, shapes=(CHAIN,))
        self.asked = []

    def _lanes(self, prompt, lanes, cancel):
        self.asked.append((prompt, lanes[0]))
        for event in super()._lanes(prompt, lanes, cancel):
            print("a library's chatter on stdout")
            yield event


def run_json(capsys, *argv):
    assert cli.main([*argv, "--json"]) == 0
    out = capsys.readouterr()
    assert out.out.count("\n") == 1
    return json.loads(out.out), out.err


def refused(capsys, *argv):
    """The one line on stderr of a command that ends with status 2."""
    try:
        status = cli.main(list(argv))
    except SystemExit as leaving:
        status = leaving.code
    out = capsys.readouterr()
    assert status == 2
    assert out.out == ""
    lines = [line for line in out.err.splitlines() if line and "…" not in line]
    lines = [line for line in lines if line not in (CommandLab.description, NOTE)]
    assert len(lines) == 1, out.err
    assert "Traceback" not in out.err
    return lines[0]
