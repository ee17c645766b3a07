"""From a method's name to the file that drafts for it."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from explorer.records.errors import ExplorerError
from explorer.records.methods import METHODS, find_method
from explorer.records.paths import ROOT


def test_unknown_methods_and_missing_heads_are_one_sentence():
    with pytest.raises(ExplorerError, match="choose one of plain, medusa"):
        find_method("telepathy", {})
    for method in METHODS.values():
        if method.heads:
            with pytest.raises(ExplorerError, match="heads"):
                find_method(method.name, {})
        else:
            assert find_method(method.name, {}) is method


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_its_file(name):
    module = importlib.import_module(f"explorer.decoding.{name.replace('-', '_')}")
    assert callable(module.make_drafter)


def test_describing_methods_needs_no_torch():
    code = (
        "import sys, explorer.records.methods, explorer.decoding.registry; "
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0
