"""Models named by a path or a Hub repository."""

import errno
import os

import pytest

from explorer.records.errors import ExplorerError
from explorer.weights import hub, sources
from explorer.weights.presets import model_options

CONTENT = b"GGUF" + bytes(1000)


def test_local_models_are_found(tmp_path):
    file = tmp_path / "a model.gguf"
    file.write_bytes(CONTENT)
    assert sources.find_weights(model_options(model=str(file))).gguf == file
    assert sources.find_weights(model_options(model=str(tmp_path))).gguf == file  # the only one
    network = tmp_path / "network"
    network.mkdir()
    (network / "config.json").write_text("{}")
    assert sources.find_weights(model_options(model=str(network))).folder == str(network)
    assert sources.find_weights(model_options(model="owner/repo")).folder == "owner/repo"


def test_gguf_of_a_hub_repository(tmp_path, monkeypatch):
    def download(repo, filename, folder=None):
        assert (repo, filename) == ("owner/repo", "sub/model.gguf")
        (tmp_path / "model.gguf").write_bytes(CONTENT)
        return tmp_path / "model.gguf"

    monkeypatch.setattr(hub, "download", download)
    found = sources.find_weights(model_options(model="owner/repo:sub/model.gguf"))
    assert found == sources.Weights(gguf=tmp_path / "model.gguf")


@pytest.mark.parametrize(
    ("model", "hint"),
    [
        ("./missing.gguf", "no model at"),
        ("missing.gguf", "no model at"),
        ("/nowhere/at/all", "no model at"),
        ("owner/repo:weights.bin", "names no GGUF"),
        ("a/b/c", "no model at"),
        ("../../nowhere-at-all", "no model at"),
        ("x" * 4000, "no model at"),
        ("owner/repo name", "no model at"),
    ],
)
def test_models_that_are_not_there(model, hint):
    with pytest.raises(ExplorerError, match=hint) as caught:
        sources.find_weights(model_options(model=model))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_gguf(tmp_path):
    (tmp_path / "page.gguf").write_bytes(b"<html>")
    with pytest.raises(ExplorerError, match="not a GGUF file"):
        sources.find_weights(model_options(model=str(tmp_path / "page.gguf")))


def test_full_disk_while_the_hub_is_read(monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(hub, "download", full)
    with pytest.raises(ExplorerError, match="HF_HOME"):
        sources.find_weights(model_options(model="owner/repo:model.gguf"))


def test_hub_errors_are_sentences(monkeypatch):
    import huggingface_hub
    from huggingface_hub import errors

    for raised, hint in [
        (errors.OfflineModeIsEnabled("offline"), "cannot be reached"),
        (errors.LocalEntryNotFoundError("none"), "cannot be reached"),
        (RuntimeError("socket broke"), "broke off"),
    ]:

        def fail(*_, _raised=raised, **__):
            raise _raised

        monkeypatch.setattr(huggingface_hub, "hf_hub_download", fail)
        with pytest.raises(ExplorerError, match=hint):
            hub.download("owner/repo", "model.gguf")
