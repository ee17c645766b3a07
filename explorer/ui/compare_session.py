"""The server's state of one tab's comparison, and the messages to the browser about it."""

from __future__ import annotations

import json
import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from explorer.ui.compare_request import Aside
from explorer.ui.session import Phase, Successive
from explorer.ui.worker import Ticket

if TYPE_CHECKING:
    from explorer.measuring.bench_report import BenchReport
    from explorer.measuring.comparison import Turn

MIN_SHARE = 0.02  # below this, the time left is not estimated


@dataclass(eq=False)
class CompareSession(Successive):
    """The comparison of one tab. `key` names it towards the browser; nobody can guess it.

    `packed` is what the browser gets, in order: ["prompts", […]] once, then a ["races", […]]
    and a ["report", {…}] after each prompt. Of the reports only the last is kept. Where an
    `aside` is asked for, it is one ["batches", {…}] or ["overlap", {…}].
    """

    key: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    aside: Aside = ""
    ticket: Ticket | None = None
    phase: Phase = "empty"
    problem: str = ""
    text: str = ""
    share: float = 0.0
    packed: list[list[Any]] = field(default_factory=list)
    _started: float = 0.0
    _races: int = 0
    _sent: int = 0

    @property
    def live(self) -> bool:
        """Whether it still runs or waits for its turn."""
        return self.phase in ("waiting", "running")

    def start(self) -> None:
        """The model is free: from now on the time counts."""
        self.phase, self._started = "running", time.monotonic()

    def add(self, turn: Turn) -> None:
        """Take in a report of the comparison."""
        self.text, self.share = turn.text, max(self.share, turn.share)
        if turn.report is not None:
            self._add_report(turn.report)

    def progress(self, text: str, share: float | None) -> None:
        """The progress of an aside; called on the model's thread."""
        self.text, self.share = text[:1].upper() + text[1:], max(self.share, share or 0.0)

    def _add_report(self, report: BenchReport) -> None:
        content = report.model_dump(mode="json")
        races = content.pop("races")
        # By prompt, so that sent races stay in front; explained differences are sent again.
        races.sort(key=lambda race: race["number"])
        self.packed = [["report", None] if event[0] == "report" else event for event in self.packed]
        explained = [race for race in races[: self._races] if _explained(race)]
        self.packed += [["races", [*explained, *races[self._races :]]], ["report", content]]
        self._races = len(races)

    def message(self) -> str:
        """What the browser has not been sent yet."""
        first, self._sent = self._sent, len(self.packed)
        return self.message_from(first)

    def message_from(self, first: int) -> str:
        """The events from number `first` on, and how the comparison stands, as JSON."""
        left = None
        if self.phase == "running" and self.share >= MIN_SHARE:
            left = (time.monotonic() - self._started) * (1 - self.share) / self.share
        message = {
            "run": self.key,
            "aside": self.aside,
            "first": first,
            "events": self.packed[first:],
            "phase": self.phase,
            "text": self.problem or self.text,
            "share": self.share,
            "left": left,
        }
        return encoded(message)


def encoded(message: dict[str, Any]) -> str:
    """A message as JSON without anything that could be an HTML tag."""
    text = json.dumps(message, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c")


def _explained(race: dict[str, Any]) -> bool:
    return race["difference"] is not None and race["difference"]["verdict"] is not None
