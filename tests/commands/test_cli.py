"""What all commands share: help, examples, exit status, JSON."""

import json
import shlex
import subprocess
import sys

import pytest

from explorer.commands import cli, train
from explorer.commands.console import Console
from explorer.lab import loading
from explorer.records.methods import METHODS
from tests.commands.fakes import refused


@pytest.mark.parametrize("name", ["run", "race", "bench", "audit"])
def test_help_lists_every_method_and_its_parameters(capsys, name):
    with pytest.raises(SystemExit):
        cli.main([name, "--help"])
    out = " ".join(capsys.readouterr().out.split())
    for method in METHODS.values():
        assert method.explanation in out
        for parameter in method.parameters:
            assert f"--{parameter.name.replace('_', '-')}" in out


@pytest.mark.parametrize(
    "name", [*(set(cli.COMMANDS) - {"train"}), *(f"train {what}" for what in train.SUBCOMMANDS)]
)
def test_help_shows_an_example(capsys, name):
    with pytest.raises(SystemExit) as leaving:
        cli.main([*name.split(), "--help"])
    assert leaving.value.code == 0
    out = capsys.readouterr().out
    assert f"python -m explorer {name}" in out
    for option in ("--json", "--preset", "--model", "--heads", "--backend", "--device"):
        assert option in out


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_examples_are_accepted(name):
    argv = shlex.split(cli.command_module(name).EXAMPLE)[3:]
    assert cli.build_parser(argv).parse_args(argv).command == name


def test_command_modules_are_complete():
    for name in cli.COMMANDS:
        module = cli.command_module(name)
        assert isinstance(module, type(cli)), name
        adds = "add_subcommands" if hasattr(module, "SUBCOMMANDS") else "add_arguments"
        for part in ("EXAMPLE", adds, "execute", "render"):
            assert hasattr(module, part), (name, part)


def test_unexpected_errors_are_status_one(fake, capsys, monkeypatch):
    def broken(**_):
        raise RuntimeError("boom\nwith a second line")

    monkeypatch.setattr(loading, "load", broken)
    assert cli.main(["run", "x", "--json"]) == 1
    out = capsys.readouterr()
    assert out.out == ""
    assert len(out.err.strip().splitlines()) == 1
    assert "boom" in out.err
    monkeypatch.setenv(cli.DEBUG_VARIABLE, "1")
    cli.main(["run", "x"])
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "hint"), [(MemoryError(), "Out of memory"), (KeyboardInterrupt(), "Stopped")]
)
def test_memory_and_interrupts_are_sentences(fake, capsys, monkeypatch, error, hint):
    def broken(**_):
        raise error

    monkeypatch.setattr(loading, "load", broken)
    assert cli.main(["run", "x"]) == 1
    assert hint in capsys.readouterr().err


def test_json_has_neither_nan_nor_infinity(capsys):
    Console(json=True).result({"a": float("nan"), "b": [float("inf"), 1.5], 3: ()}, str)
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": [None, 1.5], "3": []}


def test_it_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "explorer", "run"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("argv", "hint"),
    [
        (["fly"], "fly"),
        ([], "choose a command"),
    ],
)
def test_bad_input_is_one_line_and_status_two(fake, capsys, argv, hint):
    assert hint in refused(capsys, *argv)
