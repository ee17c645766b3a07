"""A method is one file and one entry: with nothing else edited it is on the command line, in
races, in traces, in the API, in the README's table and on the pages."""

from __future__ import annotations

import json
import sys

import pytest

import explorer
import explorer.decoding
from explorer.commands import cli
from explorer.lab import loading
from explorer.records.errors import ExplorerError
from explorer.records.methods import METHODS, Method, Parameter
from explorer.ui.api_arguments import race_arguments, run_arguments
from explorer.ui.compare_page import setup
from explorer.ui.compare_request import checked
from explorer.ui.limits import PRIVATE, PUBLIC
from explorer.ui.wire import Wire
from tests.node import ask_module
from tests.records.test_methods import markdown_table
from tests.tiny_lab import tiny_lab

FILE = '''
"""Guesses that the root is written again and again."""

import torch

from explorer.decoding.drafter import Draft, Drafter, bare_root
from explorer.decoding.tree import chain


class EchoDrafter(Drafter):
    def __init__(self, times):
        self.times = times

    def draft(self, context):
        times = min(self.times, context.max_depth)
        if times == 0:
            return bare_root(context.root)
        tokens = torch.full((times + 1,), context.root)
        return Draft(chain(times), tokens, torch.ones(times + 1))


def make_drafter(inputs, settings):
    return EchoDrafter(settings.echo_times)
'''
ENTRY = Method(
    "echo-root",
    title="Echo",
    code="Ec",
    explanation="Repeats the root.",
    source="a test",
    memory="nothing",
    drafter="echo {depth}",
    colour="#f0e442",
    mark="M0 0H1V1Z",
    parameters=(
        Parameter("echo_times", 2, "how often the root is repeated", minimum=1, maximum=9),
    ),
)


@pytest.fixture(autouse=True)
def echo(tmp_path, monkeypatch):
    """The file and the entry."""
    (tmp_path / "echo_root.py").write_text(FILE)
    here = [*explorer.decoding.__path__, str(tmp_path)]
    monkeypatch.setattr(explorer.decoding, "__path__", here)
    monkeypatch.setitem(METHODS, ENTRY.name, ENTRY)
    yield
    sys.modules.pop("explorer.decoding.echo_root", None)


@pytest.fixture
def own_lab(monkeypatch):
    lab = tiny_lab()
    monkeypatch.setattr(loading, "load", lambda **_: lab)
    return lab


def test_the_command_line_has_it(own_lab, capsys):
    with pytest.raises(SystemExit):
        cli.main(["race", "--help"])
    found = " ".join(capsys.readouterr().out.split())
    assert "Repeats the root." in found
    assert "--echo-times" in found
    assert "echo-root: how often the root is repeated (1 to 9, default 2)" in found
    argv = ["race", "some words", "--methods", "plain,echo-root", "--max-new-tokens", "12"]
    assert cli.main([*argv, "--echo-times", "3", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert set(result["lanes"]) == {"plain", "echo-root"}
    assert result["identical"]
    assert cli.main([*argv, "--echo-times", "10"]) == 2


def test_a_trace_keeps_it(own_lab, tmp_path):
    trace = own_lab.run_race("some words", method="echo-root", echo_times=3, max_new_tokens=12)
    assert {len(shape.paths) for shape in trace.trees} >= {3}
    again = explorer.Trace.open(trace.save(tmp_path / "echo.json.gz"))
    assert again == trace
    assert again.header.settings.echo_times == 3
    with pytest.raises(ExplorerError, match=r"echo_times: .*you gave 10"):
        own_lab.run("some words", method="echo-root", echo_times=10)


def test_the_page_shows_it(own_lab):
    trace = own_lab.run_race("some words", method="echo-root", max_new_tokens=6)
    record = trace.model_dump(mode="json")
    assert ask_module("step_explorer/trace.js", "module.nameOf(given)", record) == "Echo"
    assert ask_module("step_explorer/verdicts.js", "module.drafter(given, 2)", record) == "echo 2"
    fault = ask_module("step_explorer/validate.js", "module.firstFault(given) ?? null", record)
    assert fault is None


def test_compare_offers_it():
    offered = setup(PRIVATE)["methods"]
    found = ask_module(
        "compare/methods.js",
        "(module.learn(given), [module.code('echo-root'), module.colour('echo-root')])",
        offered,
    )
    assert found == ["Ec", "#f0e442"]
    asked = {"methods": ["echo-root"], "own": ["hi"], "max_new_tokens": 8, "tree": "auto"}
    assert checked(asked, PRIVATE).methods == ["echo-root"]


def test_the_api_and_the_limits_of_a_public_host_know_its_parameter():
    for arguments in (run_arguments(), race_arguments()):
        (given,) = (argument for argument in arguments if argument.name == "echo_times")
        assert (given.default, given.about) == (2, "how often the root is repeated")
    settings = explorer.DecodeSettings(echo_times=3)
    with pytest.raises(ExplorerError, match="echo_times is 2 here"):
        PUBLIC.check("hi", settings)


def test_the_readmes_table_would_have_it():
    assert "| `echo-root` | Repeats the root. | `--echo-times` 1–9 | nothing |" in markdown_table()


def test_a_browser_is_sent_its_name(own_lab):
    wire = Wire()
    settings = explorer.DecodeSettings(method="echo-root", max_new_tokens=4)
    for event in own_lab.race("some words", settings):
        wire.add(event)
    kind, _, header, _ = wire.packed[0]
    assert (kind, header["shown"]["title"]) == ("run", "Echo")
