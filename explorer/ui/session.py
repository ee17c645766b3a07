"""What one browser tab knows: its run so far, and which step and node it looks at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from explorer.tracing.events import TraceBuilder
from explorer.ui.engine import Ticket

Phase = Literal["empty", "waiting", "running", "done", "stopped", "failed"]


@dataclass(eq=False)
class Session:
    """The run of one tab. Compared by identity: it grows while handlers look at it.

    `step` and `row` are 0-based; `follow` means that the step view keeps to the newest step.
    """

    run: TraceBuilder = field(default_factory=TraceBuilder)
    ticket: Ticket | None = None
    phase: Phase = "empty"
    problem: str = ""
    follow: bool = True
    step: int = 0
    row: int | None = None

    @property
    def live(self) -> bool:
        """Whether the run still goes on or waits for its turn."""
        return self.phase in ("waiting", "running")

    def shown_step(self) -> int | None:
        """The 0-based step on view; None before there is one."""
        total = len(self.run.steps)
        if not total:
            return None
        return total - 1 if self.follow else min(self.step, total - 1)

    def show(self, step: int) -> None:
        """Look at a step, and stop following the newest one."""
        self.step = max(0, min(step, len(self.run.steps) - 1))
        self.follow = False
        self.row = None

    def stop(self) -> None:
        """Ask the run to end; what it has decoded stays."""
        if self.ticket is not None:
            self.ticket.cancel.set()


def stop_session(session: Session | None) -> None:
    """End the run of a tab that has gone."""
    if session is not None:
        session.stop()
