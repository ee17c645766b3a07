"""The folder for downloaded and converted files, on any platform."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path

CACHE_VARIABLE = "MEDUSA_EXPLORER_CACHE"
ROOM = 16 * 2**20  # bytes for compiled kernels, tokenizers, calibrations: a full disk takes none


def chosen_folder() -> Path:
    """$MEDUSA_EXPLORER_CACHE, or the platform's cache folder; it may be read-only."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen).expanduser().absolute()
    try:
        if sys.platform == "win32":
            base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        elif sys.platform == "darwin":
            base = Path.home() / "Library" / "Caches"
        else:
            base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:  # a container's user may have no home
        base = tempfile.gettempdir()
    return Path(base) / "medusa-explorer"


def cache_folder() -> Path:
    """Where to write: the chosen folder, or a temporary one if that is read-only or full."""
    return _writable(chosen_folder())


def read_folders() -> list[Path]:
    """Where to look for files: a container may bring some in a read-only folder."""
    return list(dict.fromkeys((chosen_folder(), cache_folder())))


@cache
def _writable(chosen: Path) -> Path:
    if _takes_files(chosen):
        return chosen
    user = getattr(os, "getuid", lambda: "user")()
    own = Path(tempfile.gettempdir()) / f"medusa-explorer-{user}"
    # Another user may own a folder of this name: then use a name that cannot be guessed.
    if _takes_files(own) and (not hasattr(os, "getuid") or own.stat().st_uid == user):
        return own
    return Path(tempfile.mkdtemp(prefix="medusa-explorer-"))


def _takes_files(folder: Path) -> bool:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return shutil.disk_usage(folder).free >= ROOM
    except OSError:
        return False
