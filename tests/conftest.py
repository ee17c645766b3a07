"""What tests of several folders share: the default model, loaded once."""

from __future__ import annotations

import pytest

pytest_plugins = ["tests.trace_records"]


@pytest.fixture(scope="session")
def lab():
    """The default model in its default backend, with the heads that ship."""
    import explorer

    return explorer.load()
