"""What the server of the page knows of one tab's measurements of another server."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from explorer.records.prompts import Prompt
from explorer.records.serving import Answer, EngineRow, LoadFigures, ServerInfo


@dataclass(eq=False)
class ServingSession:
    """Compared by identity. Figures are kept by their concurrency: a new run replaces its own.

    `answers` are those of the latest load, `level` its concurrency, `kept` says that the baseline
    was kept from an earlier run of the same server. `here` is what this explorer did on
    `prompts_here`, some of the prompts of the latest run.
    """

    cancel: threading.Event | None = None  # of what is running, or ran last
    info: ServerInfo | None = None
    speculative: dict[int, LoadFigures] = field(default_factory=dict)
    plain: dict[int, LoadFigures] = field(default_factory=dict)
    kept: bool = False
    answers: list[Answer] = field(default_factory=list)
    prompts: list[Prompt] = field(default_factory=list)
    max_new_tokens: int = 0
    level: int = 0
    here: list[EngineRow] = field(default_factory=list)
    prompts_here: list[Prompt] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The engine, for charts and tables."""
        return (self.info and self.info.engine) or "the server"

    def stop(self) -> None:
        """Ask whatever is running to end."""
        if self.cancel is not None:
            self.cancel.set()

    def begin(self, info: ServerInfo) -> None:
        """Forget what another server did, or this one with another way to draft."""
        self.cancel = threading.Event()
        if self.info is not None and not self._same(info):
            self.speculative = {}
            if not self.kept:
                self.plain = {}
        self.info, self.answers = info, []
        self.here, self.prompts_here = [], []

    def whole_answers(self) -> list[Answer]:
        """The latest load's; after a run here, those to the prompts that were decoded here."""
        here = {record["prompt"] for record in self.prompts_here}
        whole = [answer for answer in self.answers if answer.problem is None]
        return [answer for answer in whole if not here or answer.prompt in here]

    def _same(self, info: ServerInfo) -> bool:
        old = self.info
        return old is not None and (info.address, info.models, info.method) == (
            old.address,
            old.models,
            old.method,
        )

    def keep(self) -> None:
        """Take the figures so far for the baseline of what comes."""
        self.plain, self.speculative, self.kept = self.speculative, {}, True
