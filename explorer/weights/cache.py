"""The folder that fetched and converted things are kept in, on whatever machine this is."""

from __future__ import annotations

import os
import sys
import tempfile
from functools import cache
from pathlib import Path

CACHE_VARIABLE = "MEDUSA_EXPLORER_CACHE"


def chosen_folder() -> Path:
    """$MEDUSA_EXPLORER_CACHE, or the platform's cache folder; it may be one that is read-only."""
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
    """Where things are kept: the chosen folder, or one for temporary files if it is read-only."""
    return _writable(chosen_folder())


def read_folders() -> list[Path]:
    """Where things may already lie: a container may bring them in a folder that is read-only."""
    return list(dict.fromkeys((chosen_folder(), cache_folder())))


@cache
def _writable(chosen: Path) -> Path:
    if _takes_files(chosen):
        return chosen
    user = getattr(os, "getuid", lambda: "user")()
    own = Path(tempfile.gettempdir()) / f"medusa-explorer-{user}"
    # Another user may have put a folder of this name there: then one that nobody can know.
    if _takes_files(own) and (not hasattr(os, "getuid") or own.stat().st_uid == user):
        return own
    return Path(tempfile.mkdtemp(prefix="medusa-explorer-"))


def _takes_files(folder: Path) -> bool:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False
