"""A fake lab in the place of a loaded one."""

import pytest

from explorer.lab import loading
from tests.commands.fakes import CommandLab


@pytest.fixture
def fake(monkeypatch):
    lab = CommandLab()

    def load(progress=None, **asked):
        lab.loaded = asked
        progress("Loading the fake", 0.5)
        return lab

    monkeypatch.setattr(loading, "load", load)
    return lab
