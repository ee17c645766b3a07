"""A cache folder that cannot be written stops nothing."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from explorer.weights import cache
from explorer.weights.cache import CACHE_VARIABLE, cache_folder, chosen_folder, read_folders

NOWHERE = "/proc/none"  # no user can make it, not even root

pytestmark = pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc")


@pytest.fixture(autouse=True)
def _decided_anew(monkeypatch, tmp_path):
    cache._writable.cache_clear()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield
    cache._writable.cache_clear()


def test_a_folder_for_temporary_files_takes_its_place(monkeypatch, tmp_path):
    monkeypatch.setenv(CACHE_VARIABLE, NOWHERE)
    assert cache_folder() == tmp_path / f"medusa-explorer-{os.getuid()}"
    assert cache_folder().stat().st_mode & 0o077 == 0  # nobody else may put files there
    assert read_folders() == [Path(NOWHERE), cache_folder()]


def test_a_folder_that_another_user_put_there_is_not_used(monkeypatch, tmp_path):
    monkeypatch.setenv(CACHE_VARIABLE, NOWHERE)
    (tmp_path / "medusa-explorer-4711").mkdir()
    monkeypatch.setattr(os, "getuid", lambda: 4711)
    assert cache_folder().parent == tmp_path
    assert cache_folder().name != "medusa-explorer-4711"


def test_a_full_disk_is_not_written(monkeypatch, tmp_path):
    chosen, usage = tmp_path / "mine", shutil.disk_usage
    full = lambda path: usage(path)._replace(free=9_999) if path == chosen else usage(path)  # noqa: E731
    monkeypatch.setattr(cache.shutil, "disk_usage", full)
    monkeypatch.setenv(CACHE_VARIABLE, str(chosen))
    assert cache_folder() == tmp_path / f"medusa-explorer-{os.getuid()}"
    assert read_folders()[0] == chosen  # what lies there is still read


def test_a_folder_that_can_be_written_is_used(monkeypatch, tmp_path):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "mine"))
    assert cache_folder() == chosen_folder() == tmp_path / "mine"


def test_kernels_are_compiled_where_no_folder_can_be_written():
    environment = os.environ | dict.fromkeys((CACHE_VARIABLE, "HOME", "XDG_CACHE_HOME"), NOWHERE)
    # As if the folder of the code were read-only, too.
    environment["NUMBA_CACHE_LOCATOR_CLASSES"] = "UserProvidedCacheLocator,UserWideCacheLocator"
    environment.pop("NUMBA_CACHE_DIR", None)
    code = "import explorer.kernels.attention; print('ok')"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
    assert done.stdout == b"ok\n", done.stderr.decode()
