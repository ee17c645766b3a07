"""The keys of a GGUF file's network, and which of them have been read."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from explorer.records.errors import ExplorerError


class Keys:
    """The settings of one file; each one that is read counts as used, as do those in `harmless`."""

    def __init__(self, path: Path, metadata: dict[str, Any], harmless: Iterable[str]) -> None:
        self.path, self.metadata, self.used = path, metadata, set(harmless)
        self.architecture: str = metadata["general.architecture"]

    def get(self, key: str, default: Any = None) -> Any:
        """The value of `{architecture}.{key}`."""
        self.used.add(key)
        return self.metadata.get(f"{self.architecture}.{key}", default)

    def refusal(self, key: str) -> ExplorerError:
        """The error that names a key and its value."""
        value = self.metadata.get(f"{self.architecture}.{key}")
        return ExplorerError(
            f"{self.path.name} sets '{self.architecture}.{key}' to {value!s:.40}, which is not "
            "supported for this architecture, and without it every answer would be wrong: choose "
            "another file of the model, or its safetensors."
        )
