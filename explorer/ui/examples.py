"""Example prompts: some that heads guess well, some that they do not.

They are in assets/traces/index.json, with the recorded runs, because the browser reads them too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from explorer.records.paths import ASSETS
from explorer.records.settings import DecodeSettings

INDEX = ASSETS / "traces" / "index.json"
CHANGED = ("tree", "acceptance", "temperature")  # settings that an example may ask for


@dataclass(frozen=True)
class Example:
    """A prompt with a short name, what to watch for, and settings that differ from the defaults.

    `file` is a recorded run of it, if there is one; `recorded` are that run's further settings.
    """

    name: str
    prompt: str
    hint: str
    settings: Mapping[str, object] = field(default_factory=dict)
    file: str | None = None
    recorded: Mapping[str, object] = field(default_factory=dict)

    def changes(self) -> list[object]:
        """Values of the settings `CHANGED`: the example's own, else the defaults."""
        usual = DecodeSettings()
        return [self.settings.get(name, getattr(usual, name)) for name in CHANGED]


EXAMPLES = tuple(Example(**entry) for entry in json.loads(INDEX.read_text(encoding="utf-8")))
