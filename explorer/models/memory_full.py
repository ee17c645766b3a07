"""A full memory, explained in one sentence with what to lower."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

from explorer.records.errors import ExplorerError

LOWER = (
    "lower --max-new-tokens or the length of the prompt, make the heads lighter "
    "(--heads-dtype nf4, --heads-vocabulary 8192), or choose --backend nf4 or a smaller model"
)


@contextlib.contextmanager
def full_memory_explained(doing: str) -> Iterator[None]:
    """Turn a device's or the host's full memory into an ExplorerError that says what to lower."""
    try:
        yield
    except (torch.OutOfMemoryError, MemoryError) as error:
        device = "GPU" if isinstance(error, torch.OutOfMemoryError) else "machine"
        raise ExplorerError(f"The {device}'s memory is full while {doing}: {LOWER}.") from error
