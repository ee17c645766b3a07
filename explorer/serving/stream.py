"""The events of a streamed answer (`text/event-stream`), from bytes that may come in any pieces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

DONE = "[DONE]"
MAX_BYTES = 16 * 2**20  # of an answer: a server that never ends must not fill the memory
MAX_EVENT = 2**20


class TooLongError(ValueError):
    """More came than any honest answer holds."""


def limited(chunks: Iterable[bytes], most: int = MAX_BYTES) -> Iterator[bytes]:
    """The same chunks. Raises TooLongError once there are more than `most` bytes."""
    seen = 0
    for chunk in chunks:
        seen += len(chunk)
        if seen > most:
            raise TooLongError(f"more than {most >> 20} MB")
        yield chunk


def events(chunks: Iterable[bytes]) -> Iterator[str]:
    """The data of each event, `[DONE]` included; comments and other fields are passed over.

    Raises TooLongError for an event without end.
    """
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > MAX_EVENT:
            raise TooLongError(f"an event of more than {MAX_EVENT >> 20} MB")
        for line in lines:
            if line.startswith(b"data:"):
                yield line.removeprefix(b"data:").decode("utf-8", "replace").strip()
