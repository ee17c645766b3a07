"""Traces on disk: gzipped JSON, checked on the way in, the same bytes for the same trace."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path
from typing import Any

import pydantic_core
from pydantic import ValidationError

from explorer.records.errors import ExplorerError, first_mistake
from explorer.records.schema import FORMAT_VERSION, Trace
from explorer.records.step import MAX_STEPS
from explorer.records.upgrade import trace_of_format_1

SUFFIX = ".json.gz"
MAX_BYTES = 64 * 2**20  # of JSON, after decompression
MAX_RATIO = 200  # JSON bytes per file byte; real traces stay near 10, only made-up ones reach 1,000
COMPRESS_LEVEL = 6
MAX_MISTAKES = 1000  # beyond which they are not checked one by one
READERS = {1: trace_of_format_1, FORMAT_VERSION: Trace.model_validate}
SMALL = 4096  # bytes; for smaller files the ratio says nothing


def dump_trace(trace: Trace) -> bytes:
    """The bytes of a `.json.gz` file. Equal traces give equal bytes (no time, no file name)."""
    ordered = trace.model_copy(update={"pieces": dict(sorted(trace.pieces.items()))})
    out = io.BytesIO()
    with gzip.GzipFile("", "wb", COMPRESS_LEVEL, out, mtime=0) as file:
        file.write(ordered.model_dump_json().encode())
    return out.getvalue()


def parse_trace(data: bytes, name: str = "trace", most: int | None = None) -> Trace:
    """The trace in the bytes of a `.json.gz` file; `name` stands for it in error messages.

    `most` is how many bytes of JSON it may hold, None the usual number. Raises ExplorerError for
    anything but a complete, valid trace of a known format version.
    """
    value = _json_value(_inflate(data, name, most or MAX_BYTES), name)
    read = READERS[_version(value, name)]
    _require_possible(value, name)
    try:
        return read(value)
    except ValidationError as error:
        raise ExplorerError(
            f"{name} does not hold a valid trace ({_mistake(error)}): save it again "
            "from Medusa Explorer."
        ) from None  # else a traceback would print every mistake


def write_trace(trace: Trace, path: str | Path) -> Path:
    """Write a trace and return its path. Raises ExplorerError if the file cannot be written."""
    path = Path(path)
    try:
        path.write_bytes(dump_trace(trace))
    except OSError as error:
        raise ExplorerError(f"Cannot write {path}: {error.strerror or error}.") from error
    return path


def write_text(text: str, path: str | Path, what: str) -> Path:
    """Write a text file, and its folder where there is none; returns its path.

    `what` names the text in the error: "The report". Raises ExplorerError.
    """
    try:
        path = Path(path).expanduser()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except (OSError, RuntimeError) as error:  # RuntimeError: ~nobody has no home
        reason = getattr(error, "strerror", None) or error
        raise ExplorerError(
            f"{what} cannot be written to {path} ({reason}): choose another place."
        ) from error
    return path


def read_trace(path: str | Path) -> Trace:
    """Read a trace. Raises ExplorerError for a file that is missing, too large or not a trace."""
    path = Path(path)
    try:
        path = path.expanduser()
        if path.stat().st_size > MAX_BYTES:
            raise _too_large(path.name, MAX_BYTES)
        data = path.read_bytes()
    except (OSError, RuntimeError, ValueError) as error:  # RuntimeError: ~nobody has no home
        reason = getattr(error, "strerror", None) or str(error).rstrip(".")
        raise ExplorerError(f"Cannot read {path!s:.200}: {reason}.") from error
    return parse_trace(data, path.name)


def _mistake(error: ValidationError) -> str:
    """The first mistake in a few words; listing millions would take minutes."""
    if error.error_count() > MAX_MISTAKES:
        return f"it has {error.error_count()} mistakes"
    return first_mistake(error)


def _inflate(data: bytes, name: str, most: int) -> bytes:
    """Decompress at most so many bytes: a decompression bomb is refused before it is inflated."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            inflated = file.read(most + 1)
            if len(inflated) <= most:
                file.read(1)  # reaching the end checks the length and checksum of the file
    except gzip.BadGzipFile as error:
        raise ExplorerError(
            f"{name} is damaged or not a gzip file: choose a {SUFFIX} file that Medusa Explorer "
            "saved."
        ) from error
    except (EOFError, zlib.error) as error:
        raise ExplorerError(f"{name} is cut short or damaged: save it again.") from error
    if len(inflated) > most:
        raise _too_large(name, most)
    if len(inflated) > MAX_RATIO * max(len(data), SMALL):
        raise ExplorerError(
            f"{name} repeats the same few bytes over and over: choose a {SUFFIX} file "
            "that Medusa Explorer saved."
        )
    return inflated


def _json_value(text: bytes, name: str) -> object:
    try:
        return pydantic_core.from_json(text, allow_inf_nan=False)
    except ValueError as error:
        raise ExplorerError(
            f"{name} does not contain JSON: choose a {SUFFIX} file that Medusa Explorer saved."
        ) from error


def _version(value: object, name: str) -> int:
    version = value.get("format_version") if isinstance(value, dict) else None
    if type(version) is not int:
        raise ExplorerError(
            f"{name} is not a trace (it has no format_version): choose a {SUFFIX} file that Medusa "
            "Explorer saved."
        )
    if version not in READERS:
        raise ExplorerError(
            f"{name} needs a Medusa Explorer that reads trace format {version!s:.20}; this one "
            f"reads formats up to {FORMAT_VERSION}: open it with the version that saved it."
        )
    return version


def _require_possible(value: Any, name: str) -> None:
    """Refuse more steps than a run has before the first of them is checked. Raises ExplorerError.

    `plain` is what format 1 calls the tokens of the other lane.
    """
    rival = value.get("rival")
    theirs = rival.get("steps") if isinstance(rival, dict) else None
    lanes = value.get("steps"), value.get("plain"), theirs
    if any(isinstance(lane, list) and len(lane) > MAX_STEPS for lane in lanes):
        raise ExplorerError(
            f"{name} has a lane of more than {MAX_STEPS:,} steps, which no run has: choose a "
            f"{SUFFIX} file that Medusa Explorer saved."
        )


def _too_large(name: str, most: int) -> ExplorerError:
    return ExplorerError(
        f"{name} is larger than {most // 2**20} MB: record a shorter run or a smaller tree."
    )
