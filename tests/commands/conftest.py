"""The fake engine in the place of a loaded one."""

import pytest

import explorer
from tests.commands.fakes import FakeExplorer


@pytest.fixture
def fake(monkeypatch):
    engine = FakeExplorer()

    def load(progress=None, **asked):
        engine.loaded = asked
        progress("Loading the fake", 0.5)
        return engine

    monkeypatch.setattr(explorer, "load", load, raising=False)
    return engine
